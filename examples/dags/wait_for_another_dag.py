"""Waiting for another DAG: for its whole run, or for some of its tasks."""

from datetime import timedelta

from bide import DAG
from bide.operators.empty import EmptyOperator
from bide.sensors.external_task import ExternalTaskSensor

with DAG("wait_for_another_dag", schedule="@daily", default_args={"mode": "reschedule"}, tags=["example"]):
    whole_run = ExternalTaskSensor(
        task_id="whole_run",
        external_dag_id="first_steps",
        failed_states=["failed"],
    )

    two_tasks = ExternalTaskSensor(
        task_id="two_tasks",
        external_dag_id="taskflow",
        external_task_ids=["extract", "add_up"],
        allowed_states=["success", "skipped"],
    )

    yesterday = ExternalTaskSensor(
        task_id="yesterday",
        external_dag_id="first_steps",
        external_task_id="print_the_day",
        execution_delta=timedelta(days=1),
    )

    [whole_run, two_tasks, yesterday] >> EmptyOperator(task_id="go")
