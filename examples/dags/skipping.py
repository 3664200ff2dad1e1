"""Nothing to do: a task that skips itself, and with it what comes after it."""

from bide import DAG, get_current_context, task
from bide.exceptions import AirflowSkipException
from bide.operators.empty import EmptyOperator

with DAG("skipping", schedule="@daily", params={"orders": []}, tags=["example"]):

    @task
    def load() -> int:
        orders = get_current_context()["params"]["orders"]
        if not orders:
            raise AirflowSkipException("There were no orders on this day.")
        return len(orders)

    loaded = load()
    loaded >> EmptyOperator(task_id="bill")
    loaded >> EmptyOperator(task_id="always", trigger_rule="all_done")
