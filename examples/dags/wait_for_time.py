"""Waiting for a time: of day, after the data interval, or any date that a template gives."""

from datetime import time, timedelta

import pendulum

from bide import DAG
from bide.operators.empty import EmptyOperator
from bide.sensors.date_time import DateTimeSensor
from bide.sensors.time import TimeSensor
from bide.sensors.time_delta import TimeDeltaSensor
from bide.sensors.weekday import DayOfWeekSensor

with DAG(
    "wait_for_time",
    schedule="@daily",
    start_date=pendulum.datetime(2026, 1, 1, tz="Europe/Berlin"),
    default_args={"mode": "reschedule", "poke_interval": 60},
    tags=["example"],
):
    after_midnight = TimeSensor(task_id="after_midnight", target_time=time(0, 1))
    an_hour_later = TimeDeltaSensor(task_id="an_hour_later", delta=timedelta(hours=1))
    noon_of_the_day = DateTimeSensor(task_id="noon_of_the_day", target_time="{{ data_interval_start.add(hours=12) }}")
    on_a_sunday = DayOfWeekSensor(task_id="on_a_sunday", week_day="Sunday", use_task_logical_date=True)

    [after_midnight, an_hour_later, noon_of_the_day, on_a_sunday] >> EmptyOperator(task_id="go")
