"""A trigger of one's own. It may stand in a DAG file: what is saved counts for the next wait, nothing is restarted."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pendulum

from bide import DAG, BaseTrigger, TriggerEvent, defer, task, utcnow


class TideTrigger(BaseTrigger):
    """Waits for the next high tide, looking every ten minutes.

    It is made twice: in the task that defers, and, from its arguments, where it runs. So each argument is kept under
    its own name. `run` never blocks: what takes time is awaited, or has a thread of its own by `asyncio.to_thread`.
    """

    def __init__(self, harbour: str, since: datetime) -> None:
        super().__init__()
        self.harbour = harbour
        self.since = since

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while not await asyncio.to_thread(is_high_tide, self.since):
            self.log.info("The tide in %s is not in yet.", self.harbour)
            await asyncio.sleep(600)
        yield TriggerEvent({"harbour": self.harbour, "at": utcnow()})

    async def cleanup(self) -> None:
        """Called whatever the end was; also when the wait moves to another process, where it begins anew."""


def is_high_tide(since: datetime) -> bool:
    """Stands for a question that blocks, such as one to a database."""
    return utcnow() - since >= timedelta(hours=6)


with DAG("defer_own_trigger", schedule=None, start_date=pendulum.datetime(2026, 1, 1, tz="UTC"), tags=["example"]):

    @task
    def sail(event: dict[str, object] | None = None) -> str:
        if event is None:
            defer(TideTrigger("Husum", since=utcnow()))
        return f"Out of {event['harbour']}"

    sail()
