"""Branching: a function returns the id of the task to go on with, and the others are skipped.

What comes after the branches has a trigger rule that does not mind skipped tasks.
"""

from bide import DAG, Label, get_current_context, task
from bide.operators.empty import EmptyOperator

with DAG("branching", schedule="@daily", params={"rows": 1200}, tags=["example"]):

    @task.branch
    def choose() -> str | None:
        rows = get_current_context()["params"]["rows"]
        if rows == 0:
            return None
        return "load_in_bulk" if rows > 1000 else "load_row_by_row"

    bulk = EmptyOperator(task_id="load_in_bulk")
    single = EmptyOperator(task_id="load_row_by_row")
    done = EmptyOperator(task_id="done", trigger_rule="none_failed_min_one_success")

    chosen = choose()
    chosen >> Label("many rows") >> bulk >> done
    chosen >> Label("few rows") >> single >> done
