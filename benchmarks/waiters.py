"""The triggers that benchmarks wait with. What happens to them they write down, each into the file that they are given.

A line is a number and a moment, appended in one write: it costs microseconds, blocks nobody, and comes from anywhere.
"""

import asyncio
import os
import struct
import threading
import time
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

from bide import BaseTrigger, TaskSuccessEvent, TriggerEvent

LINE = struct.Struct("qd")


class Notes:
    """The reader's side of the file."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "notes")
        Path(self.path).touch()

    def count(self) -> int:
        """Count the lines."""
        return os.path.getsize(self.path) // LINE.size

    def lines(self) -> list[tuple[int, float]]:
        """Read all of them."""
        data = Path(self.path).read_bytes()
        return list(LINE.iter_unpack(data[: len(data) // LINE.size * LINE.size]))

    async def until(self, number: int, within_sec: float = 120.0) -> None:
        """Wait for so many lines."""
        deadline = time.monotonic() + within_sec
        while self.count() < number:
            assert time.monotonic() < deadline, f"{self.count()} of {number} after {within_sec} s"
            await asyncio.sleep(0.005)


@cache
def _opened(path: str, pid: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def note(path: str, number: int, moment: float | None = None) -> None:
    """Write a line."""
    os.write(_opened(path, os.getpid()), LINE.pack(number, time.time() if moment is None else moment))


class Rests(BaseTrigger):
    """Has nothing to do, for ever."""

    def __init__(self, notes: str, number: int) -> None:
        super().__init__(notes=notes, number=number)
        self.notes, self.number = notes, number

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Say that it runs, and wait."""
        note(self.notes, self.number)
        await asyncio.Event().wait()
        yield TriggerEvent()


class Gate(BaseTrigger):
    """Waits for a moment, as a coroutine; no timer."""

    def __init__(self, at: float) -> None:
        super().__init__()
        self.at = at

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait for the moment."""
        await asyncio.sleep(self.at - time.time())
        yield TriggerEvent({"status": "done"})


class Noted(BaseTrigger):
    """Notes how long it took from the task's `defer` until it runs; its event tells when it was yielded."""

    def __init__(self, notes: str, raised_at: float) -> None:
        super().__init__()
        self.notes, self.raised_at = notes, raised_at

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Note, wait a moment, and go on."""
        note(self.notes, 0, time.time() - self.raised_at)
        await asyncio.sleep(0.1)
        yield TriggerEvent(time.time())


class Ends(BaseTrigger):
    """Is all there is to its task."""

    def __init__(self, nothing: str = "") -> None:
        super().__init__()
        self.nothing = nothing

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """End it at once."""
        yield TaskSuccessEvent()


class Ticks(BaseTrigger):
    """Comes round ten times a second."""

    def __init__(self, notes: str, number: int) -> None:
        super().__init__()
        self.notes, self.number = notes, number

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Tick."""
        while self.number >= 0:
            note(self.notes, self.number)
            await asyncio.sleep(0.1)
        yield TriggerEvent()


class Blocks(BaseTrigger):
    """Holds its event loop, as bad code does."""

    def __init__(self, notes: str, seconds: float) -> None:
        super().__init__()
        self.notes, self.seconds = notes, seconds

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Block."""
        note(self.notes, -1)
        threading.Event().wait(self.seconds)
        yield TriggerEvent()
