"""A chore is done when its bell rings and otherwise every so often, and nothing that it raises ends it."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from bide.errors import BideError
from bide.process.loop import Chore
from bide.process.wakes import Bell
from tests.process.eventually import eventually

NEVER = 3600.0


@asynccontextmanager
async def repeated(
    act: Callable[[], Awaitable[object]],
    every_sec: float = NEVER,
    bell: Bell | None = None,
    at_most_every_sec: float = 0,
) -> AsyncIterator[Chore]:
    chore = Chore("The chore", act, every_sec, bell, at_most_every_sec)
    task = asyncio.create_task(chore.repeat())
    yield chore
    assert not task.done()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def nothing() -> None:
    pass


async def test_it_is_done_at_once_and_then_every_so_often() -> None:
    async with repeated(nothing, every_sec=0.01) as chore:
        await eventually(lambda: chore.rounds > 3)


async def test_a_bell_wakes_it_and_rings_that_come_meanwhile_are_one() -> None:
    bell, doing = Bell(), asyncio.Event()

    async def act() -> None:
        await doing.wait()

    async with repeated(act, bell=bell) as chore:
        for _ in range(100):
            bell.ring()
            await asyncio.sleep(0)
        doing.set()
        await eventually(lambda: chore.rounds == 2)
        bell.ring()
        await eventually(lambda: chore.rounds == 3)


async def test_it_goes_on_at_once_while_there_is_more_to_do_and_lets_others_run() -> None:
    left = 1000

    async def act() -> bool:
        nonlocal left
        left -= 1
        return left > 0

    async with repeated(act) as chore:
        await eventually(lambda: chore.rounds == 1000)


async def test_a_bell_that_rings_all_the_time_is_held_back() -> None:
    bell = Bell()
    began = time.monotonic()
    async with repeated(nothing, bell=bell, at_most_every_sec=0.02) as chore:

        def done() -> bool:
            bell.ring()
            return chore.rounds >= 6

        await eventually(done)
    assert time.monotonic() - began >= 5 * 0.02


async def test_what_it_raises_is_logged_and_it_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    errors = iter([ValueError("unforeseen"), BideError("a person can mend this")])

    async def act() -> None:
        if error := next(errors, None):
            raise error

    with caplog.at_level(logging.ERROR):
        async with repeated(act) as chore:
            await eventually(lambda: chore.rounds == 1)
    assert chore.failures == 2
    foreseen = {record.getMessage(): bool(record.exc_info) for record in caplog.records}
    assert foreseen == {
        "The chore failed: unforeseen": True,
        "The chore failed: a person can mend this": False,
    }


async def test_a_bell_that_is_not_rung_is_not_waited_for_longer_than_asked() -> None:
    bell = Bell()
    assert await bell.wait(0.01) is False
    bell.ring()
    assert await bell.wait(0.01) is True
    assert await bell.wait(0.01) is True
    bell.silence()
    assert await bell.wait(0.01) is False
