"""A triggerer in the process of a test: it claims waits, and runs their triggers on a loop that lets nobody wait."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from bide.authoring.port import answering_async
from bide.authoring.trigger import BaseTrigger, WaitingTask
from bide.children.driving import crash_of, drive, find_trigger, make_trigger
from bide.hosting.wait_overs import Over, say
from bide.model.questions import Ask
from bide.model.wait_over import WaitOver
from bide.sealing import Sealer, wait
from bide.store import holding, jobs, scratch
from bide.store.database import Database
from bide.store.holding import Claim, Claimed, Kill
from bide.store.jobs import JobType, NewJob
from bide.store.scratch import Waiting
from bide.testing.jumping import JumpingLoop

Answer = TypeVar("Answer")
MANY = 1000
EVERY_QUEUE = ("",)


class Place(Protocol):
    """What a triggerer needs of the engine that it belongs to."""

    db: Database
    sealer: Sealer
    who: str

    def run(self, act: Coroutine[Any, Any, Answer]) -> Answer:
        """Do something in the database, and wait for it."""

    def ask(self, waiting: Waiting, question: Ask, now: datetime) -> "Future[Any]":
        """Answer a question of a trigger."""


@dataclass(frozen=True)
class Held:
    """A trigger that runs here."""

    claim: Claim
    trigger: BaseTrigger
    task: asyncio.Task[None]


class Waits:
    """The waits that are going on in an engine."""

    def __init__(self, place: Place, now: datetime, patience: float) -> None:
        self._place = place
        job = NewJob(job_type=JobType.TRIGGERER, hostname="test", heartbeat_sec=timedelta(days=3660).total_seconds())
        self._job_id = place.run(jobs.register(place.db, place.who, job))
        self._held: dict[int, Held] = {}
        self._over: list[Over] = []
        self._killed: list[Claim] = []
        self._kills = 0
        # A thread of its own: there may be a loop in that of the caller, and one that runs a trigger cannot be entered.
        self._thread = ThreadPoolExecutor(1, "bide.testing.triggers")
        self._loop = self._thread.submit(JumpingLoop, now, patience).result()
        self._bell: asyncio.Future[None] | None = None

    def close(self) -> None:
        """Let go of all triggers."""
        for held in self._held.values():
            self._in_loop(_let_go(held.task))
        self._thread.submit(self._loop.close).result()
        self._thread.shutdown()

    def look(self, by_hand: Collection[str]) -> None:
        """Take up what is new, but for the tasks that are fired by hand, and let go of what is over."""
        place = self._place
        kills = place.run(holding.take_kill(place.db, place.who, self._job_id, EVERY_QUEUE, MANY))
        for kill in kills:
            self._in_loop(self._begin_kill(kill))
        claimed = place.run(holding.claim(place.db, place.who, self._job_id, EVERY_QUEUE, MANY))
        there = place.run(scratch.waits_of_runs(place.db))
        still = {(row.id, row.claim) for row in there}
        for id, held in list(self._held.items()):
            if (id, held.claim.claim) not in still:
                del self._held[id]
                self._in_loop(_let_go(held.task))
        first = {row.id: row for row in reversed(there) if row.task_id not in by_hand}
        for one in claimed:
            if one.id in first:
                self._in_loop(self._begin(one, first[one.id]))

    @property
    def going_on(self) -> bool:
        """Whether something runs here."""
        return bool(self._held or self._kills or self._over or self._killed)

    def pass_time(self, now: datetime, until: datetime) -> datetime:
        """Let triggers run until one of them has something to say, or until a date; tell what the clock says then."""
        self._loop.move_to(now)
        if not (self._over or self._killed):
            self._in_loop(self._wait(until))
        return self._loop.now

    def commit(self) -> bool:
        """Say what triggers have said; false if that is nothing."""
        place = self._place
        overs, killed = self._over, self._killed
        self._over, self._killed = [], []
        if overs:
            place.run(say(place.db, place.who, overs))
        if killed:
            place.run(holding.acknowledge(place.db, place.who, killed))
        return bool(overs or killed)

    def _in_loop(self, act: Coroutine[Any, Any, Answer]) -> Answer:
        return self._thread.submit(self._loop.run_until_complete, act).result()

    async def _wait(self, until: datetime) -> None:
        self._bell = self._loop.create_future()
        alarm = self._loop.call_at(until.timestamp(), _ring, self._bell)
        try:
            await self._bell
        finally:
            alarm.cancel()
            self._bell = None

    async def _begin(self, claimed: Claimed, waiting: Waiting) -> None:
        claim = Claim(claimed.id, claimed.claim)
        try:
            trigger = self._made(claimed.id, claimed.classpath, claimed.kwargs)
        except BaseException as error:
            self._say(claim, crash_of(error))
            return
        trigger.task_instance = WaitingTask(
            waiting.dag_id, waiting.run_id, waiting.task_id, waiting.map_index, waiting.try_number
        )
        task = self._loop.create_task(self._drive(claim, trigger, waiting), name=f"{waiting.task_id}: {trigger!r}")
        self._held[claim.id] = Held(claim, trigger, task)

    def _made(self, id: int, classpath: str, sealed: str) -> BaseTrigger:
        trigger = make_trigger(find_trigger(classpath), self._place.sealer.open(sealed, wait(id, classpath)))
        trigger.trigger_id = id
        return trigger

    async def _drive(self, claim: Claim, trigger: BaseTrigger, waiting: Waiting) -> None:
        with answering_async(_Port(self._place, self._loop, waiting)):
            await drive(trigger, lambda how: self._say(claim, how))

    def _say(self, claim: Claim, how: WaitOver) -> None:
        self._over.append(Over(claim, how))
        if self._bell is not None:
            _ring(self._bell)

    async def _begin_kill(self, kill: Kill) -> None:
        self._kills += 1
        held = self._held.pop(kill.trigger_id, None)
        task = self._loop.create_task(self._kill(kill, held), name=f"on_kill of wait {kill.trigger_id}")
        # Kept as long as it runs; it says itself when it is done.
        task.add_done_callback(lambda _: None)

    async def _kill(self, kill: Kill, held: Held | None) -> None:
        try:
            trigger = held.trigger if held else self._made(kill.trigger_id, kill.classpath, kill.kwargs)
            async with asyncio.timeout(kill.time_left.total_seconds()):
                await trigger.on_kill(kill.reason)
        except BaseException as error:
            BaseTrigger().log.exception("on_kill of wait %d has failed: %r", kill.trigger_id, error)
        if held:
            await _let_go(held.task)
        self._kills -= 1
        self._killed.append(Claim(kill.trigger_id, kill.claim))
        if self._bell is not None:
            _ring(self._bell)


async def _let_go(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _ring(bell: asyncio.Future[None]) -> None:
    if not bell.done():
        bell.set_result(None)


class _Port:
    """A trigger's way to the engine."""

    def __init__(self, place: Place, loop: JumpingLoop, waiting: Waiting) -> None:
        self._place, self._loop, self._waiting = place, loop, waiting

    async def ask(self, question: Ask) -> Any:
        """Ask the engine."""
        with self._loop.real_work():
            return await asyncio.wrap_future(self._place.ask(self._waiting, question, self._loop.now))


