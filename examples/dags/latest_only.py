"""When runs are caught up on, some things make sense for the latest one only."""

import pendulum

from bide import DAG
from bide.operators.empty import EmptyOperator
from bide.operators.latest_only import LatestOnlyOperator

with DAG(
    "latest_only",
    schedule="@daily",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=True,
    tags=["example"],
):
    load = EmptyOperator(task_id="load")
    latest = LatestOnlyOperator(task_id="latest_only")

    load >> EmptyOperator(task_id="check")
    load >> latest >> EmptyOperator(task_id="send_newsletter")
