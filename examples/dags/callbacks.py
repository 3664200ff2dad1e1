"""Functions that are called when something happens to a task or to a run."""

import logging

from bide import DAG, Context, task

log = logging.getLogger("bide.task")


def tell(context: Context) -> None:
    """Say what has happened. A real one would write a message to somebody."""
    log.info("%s of %s: %s", context["ti"].task_id, context["run_id"], context.get("exception") or "all is well")


def begin(context: Context) -> None:
    """Say that a task begins."""
    log.info("Beginning %s", context["ti"].task_id)


with DAG(
    "callbacks",
    schedule=None,
    on_success_callback=tell,
    on_failure_callback=tell,
    default_args={"on_failure_callback": tell, "on_retry_callback": [tell]},
    tags=["example"],
):

    @task(on_execute_callback=begin, on_success_callback=[tell])
    def works() -> int:
        return 1

    @task(on_skipped_callback=tell, pre_execute=begin)
    def is_prepared() -> int:
        return 2

    works() >> is_prepared()
