"""Trigger rules: how the tasks before it must have ended for a task to start."""

from bide import DAG, TriggerRule, task
from bide.exceptions import AirflowSkipException
from bide.operators.empty import EmptyOperator

with DAG("trigger_rules", schedule=None, tags=["example"]):

    @task
    def works() -> None:
        """End well."""

    @task
    def is_skipped() -> None:
        raise AirflowSkipException("There is nothing to do today.")

    @task
    def fails() -> None:
        raise ValueError("This task fails so that others can react to it.")

    good, skipped, bad = works(), is_skipped(), fails()

    [good, skipped, bad] >> EmptyOperator(task_id="whatever_happened", trigger_rule=TriggerRule.ALL_DONE)
    [good, skipped, bad] >> EmptyOperator(task_id="repair", trigger_rule=TriggerRule.ONE_FAILED)
    [good, skipped] >> EmptyOperator(task_id="no_failure", trigger_rule="none_failed")
    [good, skipped] >> EmptyOperator(task_id="all_must_work")
    [good, bad] >> EmptyOperator(task_id="one_is_enough", trigger_rule="one_success")
    [skipped] >> EmptyOperator(task_id="if_all_were_skipped", trigger_rule="all_skipped")
    [bad] >> EmptyOperator(task_id="if_all_failed", trigger_rule="all_failed")
