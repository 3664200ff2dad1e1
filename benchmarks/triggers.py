"""What the benchmarks of the triggerer wait for."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

from bide import BaseTrigger, TriggerEvent


class Until(BaseTrigger):
    """Waits until a moment by the clock of this machine, or for ever."""

    def __init__(self, at: float | None = None) -> None:
        self.at = at

    async def run(self) -> AsyncIterator[TriggerEvent]:
        if self.at is None:
            await asyncio.get_running_loop().create_future()
        else:
            await asyncio.sleep(self.at - time.time())
        yield TriggerEvent({"status": "done"})


class Ticks(BaseTrigger):
    """Writes down every few milliseconds that it is not held up."""

    def __init__(self, path: str) -> None:
        self.path = path

    async def run(self) -> AsyncIterator[TriggerEvent]:
        with Path(self.path).open("a", buffering=1) as file:  # noqa: ASYNC230  a line takes microseconds
            for _ in range(100_000):
                file.write(f"{time.time()}\n")
                await asyncio.sleep(0.02)
        yield TriggerEvent()


class Blocks(BaseTrigger):
    """Holds up its event loop, as no trigger should."""

    def __init__(self, path: str, seconds: float) -> None:
        self.path, self.seconds = path, seconds

    async def run(self) -> AsyncIterator[TriggerEvent]:
        await asyncio.sleep(0.5)
        with Path(self.path).open("a") as file:  # noqa: ASYNC230  it blocks anyway
            file.write(f"{time.time()}\n")
        until = time.monotonic() + self.seconds
        while time.monotonic() < until:
            pass
        yield TriggerEvent()
