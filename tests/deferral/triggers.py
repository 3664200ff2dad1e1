"""Triggers that tests wait for."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any, ClassVar

from bide import BaseTrigger, TaskFailedEvent, TaskSkippedEvent, TaskSuccessEvent, TriggerEvent, Variable, utcnow


class After(BaseTrigger):
    """Sleeps for a while, and yields a payload."""

    def __init__(self, seconds: float, payload: Any = None) -> None:
        super().__init__(seconds=seconds, payload=payload)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        self.log.info("sleeping for %s s", self.seconds)  # type: ignore[attr-defined]
        await asyncio.sleep(self.seconds)  # type: ignore[attr-defined]
        yield TriggerEvent(self.payload)  # type: ignore[attr-defined]


class Until(BaseTrigger):
    """Looks at the clock once a minute."""

    def __init__(self, moment: datetime) -> None:
        super().__init__()
        self.moment = moment

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while utcnow() < self.moment:
            await asyncio.sleep(60)
        yield TriggerEvent(self.moment)


class Ending(BaseTrigger):
    """Ends its task."""

    def __init__(self, how: str, xcoms: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.how, self.xcoms = how, xcoms

    async def run(self) -> AsyncIterator[TriggerEvent]:
        kinds = {"success": TaskSuccessEvent, "failed": TaskFailedEvent, "skipped": TaskSkippedEvent}
        yield kinds[self.how](xcoms=self.xcoms, reason=f"it is {self.how}")


class Never(BaseTrigger):
    """Waits for what never comes, and remembers what was done to it."""

    seen: ClassVar[list[str]] = []

    def __init__(self, name: str = "never") -> None:
        super().__init__()
        self.name = name

    async def run(self) -> AsyncIterator[TriggerEvent]:
        self.seen.append(f"{self.name} runs")
        await asyncio.Event().wait()
        yield TriggerEvent()

    async def cleanup(self) -> None:
        self.seen.append(f"{self.name} cleans up")


class Killed(Never):
    """Says when it is killed."""

    async def on_kill(self, reason: str) -> None:
        await asyncio.sleep(1)
        self.seen.append(f"{self.name} is {reason}")


class Asks(BaseTrigger):
    """Waits for a variable, asking for it every hour."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while (value := await Variable.aget(self.key, None)) is None:
            await asyncio.sleep(timedelta(hours=1).total_seconds())
        assert self.task_instance is not None
        yield TriggerEvent([value, self.task_instance.task_id, self.trigger_id])


class Broken(BaseTrigger):
    """Breaks in one way or another."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where
        if where == "serialize":
            raise ValueError("broken in __init__")

    def serialize(self) -> tuple[str, dict[str, Any]]:
        if self.where == "path":
            return "tests.deferral.nowhere.Broken", {}
        where = "serialize" if self.where == "init" else self.where
        return f"{__name__}.Broken", {"where": where}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        if self.where == "run":
            raise ValueError("broken in run")
        if self.where == "payload":
            yield TriggerEvent(print)
