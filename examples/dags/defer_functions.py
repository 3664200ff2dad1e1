"""Functions wait for free too: they go on in themselves, or in another function."""

from datetime import timedelta
from typing import Any

import pendulum

from bide import DAG, defer, task
from bide.triggers.temporal import TimeDeltaTrigger


def serve(event: timedelta, guests: int) -> str:
    """What is passed to `defer` comes along; names of the context are filled in, as in every task."""
    return f"dinner for {guests} after {event}"


with DAG("defer_functions", schedule=None, start_date=pendulum.datetime(2026, 1, 1, tz="UTC"), tags=["example"]):

    @task
    def in_itself(dough: str, event: Any = None, rounds: int = 0) -> str:
        # `event` is None the first time. From here on the function is called again, with the same arguments.
        if rounds < 2:
            defer(TimeDeltaTrigger(timedelta(hours=1)), kwargs={"rounds": rounds + 1})
        return f"{dough}, risen {rounds} times"

    @task
    def in_another_one() -> None:
        defer(TimeDeltaTrigger(timedelta(hours=2)), serve, kwargs={"guests": 4})

    in_itself("rye") >> in_another_one()
