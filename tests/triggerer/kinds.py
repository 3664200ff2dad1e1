"""Triggers for tests: good ones, and such as do what no trigger should."""

import asyncio
import ctypes
import os
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bide import BaseTrigger, TaskFailedEvent, TaskSkippedEvent, TaskSuccessEvent, TriggerEvent
from bide.authoring.variable import Variable

BLOCK = getattr(time, "sleep")  # noqa: B009  what tests may not do, bad triggers do


class Sleeps(BaseTrigger):
    """Waits a while."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    async def run(self) -> AsyncIterator[TriggerEvent]:
        await asyncio.sleep(self.seconds)
        yield TriggerEvent({"slept": self.seconds})


class Leaves(BaseTrigger):
    """Writes into a file what becomes of it, and waits until there is another one."""

    def __init__(self, diary: str, until: str = "", hangs: bool = False) -> None:
        super().__init__()
        self.diary, self.until, self.hangs = diary, until, hangs

    def write(self, word: str) -> None:
        with Path(self.diary).open("a") as file:
            file.write(f"{word}\n")

    async def run(self) -> AsyncIterator[TriggerEvent]:
        self.write("run")
        try:
            while not (self.until and Path(self.until).exists()):
                await asyncio.sleep(0.02)
            yield TriggerEvent(os.getpid())
        except asyncio.CancelledError:
            self.write("cancelled")
            while self.hangs:
                try:
                    await asyncio.sleep(1000)
                except asyncio.CancelledError:
                    self.write("stays")
            raise

    async def cleanup(self) -> None:
        self.write("cleanup")

    async def on_kill(self, reason: str) -> None:
        self.write(f"on_kill {reason}")


class Kept(BaseTrigger):
    """Fails where it is made."""

    def __init__(self, error: str = "") -> None:
        super().__init__()
        if error:
            raise ValueError(error)

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent()


class Shared(Sleeps):
    """One for all that wait for the same."""

    shared = True


class Does(BaseTrigger):
    """Does what is asked for by the name of a function below."""

    def __init__(self, what: str, **given: Any) -> None:
        super().__init__()
        self.what, self.given = what, given

    async def run(self) -> AsyncIterator[TriggerEvent]:
        async for event in globals()[self.what](self):
            yield event

    async def cleanup(self) -> None:
        if self.what == "cleanup_raises":
            raise RuntimeError("in cleanup")


async def raises(trigger: Does) -> AsyncIterator[Any]:
    raise ValueError("no such luck")
    yield


async def exits(trigger: Does) -> AsyncIterator[Any]:
    raise SystemExit(3)
    yield


async def interrupts(trigger: Does) -> AsyncIterator[Any]:
    raise KeyboardInterrupt
    yield


async def cancels(trigger: Does) -> AsyncIterator[Any]:
    raise asyncio.CancelledError
    yield


async def gives_up(trigger: Does) -> AsyncIterator[Any]:
    raise GeneratorExit
    yield


async def recurses(trigger: Does) -> AsyncIterator[Any]:
    def deeper() -> None:
        deeper()

    deeper()
    yield


async def ends_silently(trigger: Does) -> AsyncIterator[Any]:
    await asyncio.sleep(0)
    return
    yield


async def yields_twice(trigger: Does) -> AsyncIterator[Any]:
    yield TriggerEvent("first")
    yield TriggerEvent("second")


async def yields_no_event(trigger: Does) -> AsyncIterator[Any]:
    yield "event"


async def yields_unstorable(trigger: Does) -> AsyncIterator[Any]:
    yield TriggerEvent({"f": print})


async def yields_too_much(trigger: Does) -> AsyncIterator[Any]:
    yield TriggerEvent("x" * 100_000_000)


async def succeeds(trigger: Does) -> AsyncIterator[Any]:
    yield TaskSuccessEvent(xcoms={"return_value": {"a": 1}})


async def skips(trigger: Does) -> AsyncIterator[Any]:
    yield TaskSkippedEvent(reason="no need")


async def fails(trigger: Does) -> AsyncIterator[Any]:
    yield TaskFailedEvent(reason="it says so")


async def cleanup_raises(trigger: Does) -> AsyncIterator[Any]:
    yield TriggerEvent("fine")


async def prints(trigger: Does) -> AsyncIterator[Any]:
    print("printed by", trigger.task_instance.task_id if trigger.task_instance else None)
    trigger.log.info("logged")
    await asyncio.to_thread(print, "from a thread")
    sys.stderr.write("to standard error\n")
    yield TriggerEvent("printed")


async def forks(trigger: Does) -> AsyncIterator[Any]:
    pid = os.fork()
    if pid:
        await asyncio.to_thread(os.waitpid, pid, 0)
    yield TriggerEvent("parent" if pid else "child")


async def starts_threads(trigger: Does) -> AsyncIterator[Any]:
    for _ in range(20):
        threading.Thread(target=threading.Event().wait, daemon=False).start()
    yield TriggerEvent("threads")


async def changes_folder(trigger: Does) -> AsyncIterator[Any]:
    os.chdir("/")
    yield TriggerEvent("there")


async def asks(trigger: Does) -> AsyncIterator[Any]:
    token = await Variable.aget("api_token")
    trigger.log.info("the token is %s", token)
    yield TriggerEvent(await Variable.aget("plain"))


async def asks_and_blocks(trigger: Does) -> AsyncIterator[Any]:
    yield TriggerEvent(Variable.get("plain"))


async def begins_tasks(trigger: Does) -> AsyncIterator[Any]:
    async def part(number: int) -> int:
        await asyncio.sleep(0.01)
        return number

    async with asyncio.TaskGroup() as group:
        parts = [group.create_task(part(number)) for number in range(5)]
    yield TriggerEvent([part.result() for part in parts])


async def a_task_exits(trigger: Does) -> AsyncIterator[Any]:
    async def part() -> None:
        raise SystemExit(3)

    await asyncio.create_task(part())
    yield TriggerEvent()


async def blocks(trigger: Does) -> AsyncIterator[Any]:
    BLOCK(trigger.given.get("seconds", 1))
    yield TriggerEvent("blocked")


async def blocks_often(trigger: Does) -> AsyncIterator[Any]:
    while True:
        BLOCK(0.8)
        await asyncio.sleep(0.2)
    yield


async def spins(trigger: Does) -> AsyncIterator[Any]:
    while True:
        pass
    yield


async def crashes(trigger: Does) -> AsyncIterator[Any]:
    await asyncio.sleep(0.1)
    ctypes.string_at(0)
    yield


async def leaves_process(trigger: Does) -> AsyncIterator[Any]:
    os._exit(7)
    yield
