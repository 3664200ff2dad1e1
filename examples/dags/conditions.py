"""Conditions: a task runs, or is skipped, by what is true just before it would begin."""

from bide import DAG, Context, task


def is_large(context: Context) -> bool:
    """Tell whether there is much to do in this run."""
    return int(context["params"]["rows"]) > 1000


with DAG("conditions", schedule=None, params={"rows": 200}, tags=["example"]):

    @task.skip_if(is_large)
    @task
    def load_row_by_row() -> str:
        return "row by row"

    @task.run_if(is_large, "There is little to load.")
    @task.bash
    def load_in_bulk() -> str:
        return "echo in bulk"

    load_row_by_row()
    load_in_bulk()
