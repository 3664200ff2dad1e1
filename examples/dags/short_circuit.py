"""Stop early: if the function returns something false, all that comes after it is skipped."""

from bide import DAG, chain, task
from bide.operators.empty import EmptyOperator
from bide.operators.python import ShortCircuitOperator

with DAG("short_circuit", schedule=None, tags=["example"]):

    @task.short_circuit
    def has_news() -> bool:
        return True

    @task.short_circuit(ignore_downstream_trigger_rules=False)
    def has_errors() -> list[str]:
        return []

    # Skipped: it comes right after a check that says no.
    send_alarm = EmptyOperator(task_id="send_alarm")
    # Not skipped: it goes by its own trigger rule, because has_errors does not overrule that.
    tidy_up = EmptyOperator(task_id="tidy_up", trigger_rule="all_done")

    never = ShortCircuitOperator(task_id="never", python_callable=lambda: False)

    chain(has_news(), EmptyOperator(task_id="read_news"))
    chain(has_errors(), send_alarm, tidy_up)
    chain(never, EmptyOperator(task_id="a"), EmptyOperator(task_id="b", trigger_rule="all_done"))
