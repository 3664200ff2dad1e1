"""Tasks that begin in their trigger: until there is something to do they use no worker at all."""

from datetime import timedelta
from typing import Any

import pendulum

from bide import DAG, BaseOperator, Context, StartTriggerArgs, task


class Brew(BaseOperator):
    """Waits first, and then serves. By its class for four minutes; each task may say otherwise."""

    start_trigger_args = StartTriggerArgs(
        trigger_cls="bide.triggers.temporal.TimeDeltaTrigger",
        trigger_kwargs={"delta": timedelta(minutes=4)},
        next_method="serve",
    )
    start_from_trigger = True

    def serve(self, context: Context, event: timedelta | None = None) -> str:
        """The only method that ever runs."""
        return f"brewed for {event}"


class BrewFor(Brew):
    """Changes what its class says, for each task by itself."""

    def __init__(self, *, minutes: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        assert self.start_trigger_args is not None
        self.start_trigger_args.trigger_kwargs = {"delta": timedelta(minutes=minutes)}


with DAG(
    "defer_start_from_trigger", schedule=None, start_date=pendulum.datetime(2026, 1, 1, tz="UTC"), tags=["example"]
):
    Brew(task_id="by_class")
    BrewFor(task_id="by_task", minutes=7)
    Brew(task_id="by_argument", trigger_kwargs={"delta": timedelta(minutes=2)})

    @task
    def orders() -> list[dict[str, timedelta]]:
        return [{"delta": timedelta(minutes=minutes)} for minutes in (3, 5)]

    # What depends on the run, as the result of a task does, takes a worker for some milliseconds, and then none.
    Brew.partial(task_id="for_each").expand(trigger_kwargs=orders())
