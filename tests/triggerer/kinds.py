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

import httpx

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
            while not (self.until and os.path.exists(self.until)):  # noqa: ASYNC110, ASYNC240  nobody here can say so
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
        said = await globals()[self.what](self)
        for event in said if isinstance(said, tuple) else () if said is None else (said,):
            yield event

    async def cleanup(self) -> None:
        if self.what == "cleanup_raises":
            raise RuntimeError("in cleanup")


async def raises(trigger: Does) -> Any:
    raise ValueError("no such luck")


async def exits(trigger: Does) -> Any:
    raise SystemExit(3)


async def interrupts(trigger: Does) -> Any:
    raise KeyboardInterrupt


async def cancels(trigger: Does) -> Any:
    raise asyncio.CancelledError


async def gives_up(trigger: Does) -> Any:
    raise GeneratorExit


async def recurses(trigger: Does) -> Any:
    def deeper() -> None:
        deeper()

    deeper()


async def ends_silently(trigger: Does) -> Any:
    await asyncio.sleep(0)


async def yields_twice(trigger: Does) -> Any:
    return TriggerEvent("first"), TriggerEvent("second")


async def yields_no_event(trigger: Does) -> Any:
    return "event"


async def yields_unstorable(trigger: Does) -> Any:
    return TriggerEvent({"f": print})


async def yields_too_much(trigger: Does) -> Any:
    return TriggerEvent("x" * 100_000_000)


async def succeeds(trigger: Does) -> Any:
    return TaskSuccessEvent(xcoms={"return_value": {"a": 1}})


async def skips(trigger: Does) -> Any:
    return TaskSkippedEvent(reason="no need")


async def fails(trigger: Does) -> Any:
    return TaskFailedEvent(reason="it says so")


async def cleanup_raises(trigger: Does) -> Any:
    return TriggerEvent("fine")


async def prints(trigger: Does) -> Any:
    print("printed by", trigger.task_instance.task_id if trigger.task_instance else None)
    trigger.log.info("logged")
    await asyncio.to_thread(print, "from a thread")
    sys.stderr.write("to standard error\n")
    return TriggerEvent("printed")


async def forks(trigger: Does) -> Any:
    pid = os.fork()
    if pid:
        await asyncio.to_thread(os.waitpid, pid, 0)
    return TriggerEvent("parent" if pid else "child")


async def starts_threads(trigger: Does) -> Any:
    for _ in range(20):
        threading.Thread(target=threading.Event().wait, daemon=False).start()
    return TriggerEvent("threads")


async def changes_folder(trigger: Does) -> Any:
    os.chdir("/")
    return TriggerEvent("there")


async def asks(trigger: Does) -> Any:
    token = await Variable.aget("api_token")
    trigger.log.info("the token is %s", token)
    return TriggerEvent(await Variable.aget("plain"))


async def asks_and_blocks(trigger: Does) -> Any:
    return TriggerEvent(Variable.get("plain"))


async def fetches(trigger: Does) -> Any:
    async with httpx.AsyncClient(timeout=5) as client:
        one, two = await asyncio.gather(*(client.get(trigger.given["url"]) for _ in range(2)))
    return TriggerEvent([one.text, two.text])


async def begins_tasks(trigger: Does) -> Any:
    async def part(number: int) -> int:
        await asyncio.sleep(0.01)
        return number

    async with asyncio.TaskGroup() as group:
        parts = [group.create_task(part(number)) for number in range(5)]
    return TriggerEvent([part.result() for part in parts])


async def a_task_exits(trigger: Does) -> Any:
    async def part() -> None:
        raise SystemExit(3)

    await asyncio.create_task(part())
    return TriggerEvent()


async def blocks(trigger: Does) -> Any:
    BLOCK(trigger.given.get("seconds", 1))
    return TriggerEvent("blocked")


async def blocks_often(trigger: Does) -> Any:
    while True:
        BLOCK(0.8)
        await asyncio.sleep(0.2)


async def spins(trigger: Does) -> Any:
    while True:
        pass


async def crashes(trigger: Does) -> Any:
    await asyncio.sleep(0.1)
    ctypes.string_at(0)


async def leaves_process(trigger: Does) -> Any:
    os._exit(7)


async def computes(trigger: Does) -> Any:
    while True:
        until = time.monotonic() + 0.005
        while time.monotonic() < until:
            pass
        await asyncio.sleep(0.01)
