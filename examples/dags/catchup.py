"""Catching up: one run for each date of the schedule since the start date, in the time zone of the DAG.

A cron line alone means a run for each of its moments. With a CronDataIntervalTimetable a run is about the stretch of
time between two of them, and comes when that has passed.
"""

from typing import Unpack

import pendulum

from bide import DAG, Context, CronDataIntervalTimetable, task

with DAG(
    "catchup",
    schedule=CronDataIntervalTimetable("30 6 * * MON-FRI", timezone="Europe/Berlin"),
    start_date=pendulum.datetime(2026, 3, 1, tz="Europe/Berlin"),
    end_date=pendulum.datetime(2026, 12, 31, tz="Europe/Berlin"),
    catchup=True,
    max_active_runs=3,
    tags=["example"],
):

    @task
    def process(**context: Unpack[Context]) -> str:
        return f"from {context['data_interval_start']} to {context['data_interval_end']}"

    process()

with DAG(
    "no_catchup",
    schedule="0 * * * *",
    start_date=pendulum.datetime(2026, 3, 1, tz="Europe/Berlin"),
    catchup=False,
    tags=["example"],
):
    process.override(task_id="process_now")()
