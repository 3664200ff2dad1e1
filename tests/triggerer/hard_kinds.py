"""Triggers for tests that say what is hard to pass on, or come in each other's way."""

import os
from collections.abc import AsyncIterator

from bide import BaseTrigger, TaskSuccessEvent, TriggerEvent
from tests.triggerer.kinds import BLOCK, Leaves

UNPAIRED = "half a character: \ud800"


class Says(BaseTrigger):
    """Says what is hard to pass on."""

    def __init__(self, what: str) -> None:
        super().__init__(what=what)
        self.what = what

    async def run(self) -> AsyncIterator[TriggerEvent]:
        match self.what:
            case "unpaired error":
                raise ValueError(UNPAIRED)
            case "unpaired line":
                print(UNPAIRED)
                yield TriggerEvent("printed")
            case "too many XComs":
                yield TaskSuccessEvent(xcoms={f"key_{number}": "x" * 900_000 for number in range(80)})
            case _:
                yield TriggerEvent(self.what)


class Blocks(Leaves):
    """Holds the event loop until it may yield its event."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        self.write("run")
        while not os.path.exists(self.until):  # noqa: ASYNC240  it blocks on purpose
            BLOCK(0.01)
        yield TriggerEvent("late")


class NotAgain(Leaves):
    """Cannot be made a second time."""

    def __init__(self, diary: str, until: str = "") -> None:
        super().__init__(diary, until)
        if os.path.exists(diary):
            raise ValueError("not again")
