"""A task that needs its own earlier run: it starts only when that one has ended well."""

import pendulum

from bide import DAG
from bide.operators.bash import BashOperator

with DAG(
    "depends_on_past",
    schedule="@daily",
    start_date=pendulum.datetime(2026, 3, 1, tz="UTC"),
    catchup=True,
    tags=["example"],
):
    add_to_yesterday = BashOperator(
        task_id="add_to_yesterday",
        bash_command="echo {{ prev_data_interval_end_success or 'this is the first day' }}",
        depends_on_past=True,
    )

    # It also waits until all that came right after its earlier run has ended.
    publish = BashOperator(task_id="publish", bash_command="echo {{ ds }}", wait_for_downstream=True)

    add_to_yesterday >> publish >> BashOperator(task_id="announce", bash_command="echo done")
