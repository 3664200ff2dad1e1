"""Running services: one alone, or all of them in one process. They share the loop, the pool and the bells."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import uvloop

from bide import kernel
from bide.errors import BideError
from bide.process.loop import Chore
from bide.process.membership import Member, joined
from bide.process.wakes import Bells, bells
from bide.settings import Settings
from bide.store.database import Database, connected
from bide.store.jobs import NewJob
from bide.store.wake import Channel

log = logging.getLogger(__name__)

REGISTER_AGAIN_SEC = 1.0
AT_ONCE_WITHIN_SEC = 5.0
"""Who was told to stop at once says what it can in this time, and leaves; the database may not be there to listen."""


@dataclass(frozen=True)
class Ground:
    """What services stand on."""

    settings: Settings
    url: str
    db: Database
    bells: Bells


class Service(Protocol):
    """What `serve` keeps running: it is begun, does its chores, and is drained, or dropped when it was buried."""

    name: str

    def job(self) -> NewJob:
        """Say what to register; host, process and lock are filled in."""

    def chores(self) -> Sequence[Chore]:
        """List what it does again and again, from `begin` on until it is drained or dropped."""

    async def begin(self, member: Member) -> None:
        """Start with a clean slate under a new registration."""

    async def drain(self, hurry: asyncio.Event) -> None:
        """Finish, and hand over what cannot be finished; its chores go on meanwhile. At once when `hurry` is set."""

    async def drop(self) -> None:
        """Let go of everything without a word: others have taken it over."""


class Stop:
    """Told by signals: the first one asks to stop, the second one to stop at once. `too_late` follows soon after."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()
        self.too_late = asyncio.Event()

    def __call__(self) -> None:
        if not self.asked.is_set():
            self.asked.set()
        elif not self.at_once.is_set():
            self.at_once.set()
            asyncio.get_running_loop().call_later(AT_ONCE_WITHIN_SEC, self.too_late.set)


@asynccontextmanager
async def ground(settings: Settings, url: str, channels: Sequence[Channel]) -> AsyncIterator[Ground]:
    """Open what services share; `channels` are those that their bells listen to."""
    given = settings.database
    async with (
        connected(
            url,
            pool_size=given.pool_size,
            statement_timeout_sec=given.statement_timeout_sec,
            pooler=given.pooler,
        ) as db,
        bells(db, url, channels, pooler=given.pooler) as hung,
    ):
        yield Ground(settings, url, db, hung)


def run(
    settings: Settings, url: str, channels: Sequence[Channel], build: Callable[[Ground], Sequence[Service]]
) -> None:
    """Be a process of services, from its start until they have stopped."""
    kernel.hide_memory()

    async def main() -> None:
        stop = Stop()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        async with ground(settings, url, channels) as place:
            await serve(place, build(place), stop)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


async def serve(place: Ground, services: Sequence[Service], stop: Stop) -> None:
    """Keep services running until they are told to stop."""
    async with asyncio.TaskGroup() as group:
        for service in services:
            group.create_task(keep(place, service, stop))


async def keep(place: Ground, service: Service, stop: Stop) -> None:
    """Keep one service running: one registration after the other, until it is told to stop."""
    while not stop.asked.is_set():
        try:
            await live(place, service, stop)
        except BideError as error:
            log.error("The %s is not at work: %s", service.name, error)
            await first_of(asyncio.sleep(REGISTER_AGAIN_SEC), stop.asked.wait())


async def live(place: Ground, service: Service, stop: Stop) -> None:
    """Lead one service from its registration to its end, which is one of three: told to stop, buried, or failed."""
    lock_url = None if place.settings.database.pooler else place.url
    async with joined(place.db, service.job(), lock_url) as member:
        await service.begin(member)
        chores = [asyncio.create_task(chore.repeat(), name=chore.name) for chore in service.chores()]
        try:
            await first_of(stop.asked.wait(), member.buried.wait())
            if not member.buried.is_set():
                log.info("The %s stops.", service.name)
                await first_of(service.drain(stop.at_once), member.buried.wait(), stop.too_late.wait())
        finally:
            for chore in chores:
                chore.cancel()
            await asyncio.gather(*chores, return_exceptions=True)
            # After a drain nothing is left to let go of.
            await service.drop()
        if not member.buried.is_set():
            await first_of(member.retire(), stop.too_late.wait())


async def first_of(*waits: Coroutine[Any, Any, object]) -> None:
    """Wait for whichever comes first, and give the others up. What one of them raises is raised here."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
