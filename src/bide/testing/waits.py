"""A triggerer in the process of a test: it claims waits, and runs their triggers on a loop that lets nobody wait."""

import asyncio
from collections.abc import Collection, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from bide.authoring.clock import kept_by
from bide.authoring.port import answering_async
from bide.authoring.trigger import BaseTrigger, WaitingTask
from bide.children.driving import crash_of, drive, find_trigger, make_trigger
from bide.hosting.wait_overs import Over, say
from bide.model.wait_over import WaitOver
from bide.sealing import Sealer, wait
from bide.store import holding, jobs, scratch
from bide.store.database import Database
from bide.store.holding import Claim, Claimed, Kill
from bide.store.jobs import JobType, NewJob
from bide.store.scratch import Waiting
from bide.testing.ground import Background
from bide.testing.jumping import JumpingLoop, LoopClock
from bide.testing.waiter import Talk, Waiter, heard

Answer = TypeVar("Answer")
MANY = 1000
EVERY_QUEUE = ("",)
FOREVER = timedelta(days=3660)


@dataclass(frozen=True)
class Held:
    """A trigger that runs here."""

    claim: Claim
    trigger: BaseTrigger
    task: asyncio.Task[None]


class Waits:
    """The waits that are going on in an engine."""

    def __init__(
        self, background: Background, db: Database, sealer: Sealer, talk: Talk, now: datetime, patience: timedelta
    ) -> None:
        """`patience` is how long real work may take, such as a request, before the clock moves on past it."""
        self._run, self._db, self._sealer, self._talk = background.run, db, sealer, talk
        job = NewJob(job_type=JobType.TRIGGERER, hostname="test", heartbeat_sec=FOREVER.total_seconds())
        self._job_id = self._run(jobs.register(db, talk.who, job))
        self._held: dict[int, Held] = {}
        self._kills: set[asyncio.Task[None]] = set()
        self._over: list[Over] = []
        self._killed: list[Claim] = []
        # A thread of its own: the caller's may have a loop that runs, and such a one cannot be entered.
        self._thread = ThreadPoolExecutor(1, "bide.testing.waits")
        self._loop = self._thread.submit(JumpingLoop, now, patience.total_seconds()).result()
        self._bell: asyncio.Future[None] | None = None

    def close(self) -> None:
        """Let go of all triggers."""
        for task in (*self._kills, *(held.task for held in self._held.values())):
            self._in_loop(_let_go(task))
        self._in_loop(self._loop.shutdown_default_executor())
        self._thread.submit(self._loop.close).result()
        self._thread.shutdown()

    @property
    def are_going_on(self) -> bool:
        """Whether something runs here, or is still to be said."""
        return bool(self._held or self._kills or self._over or self._killed)

    def look(self, by_hand: Collection[str]) -> None:
        """Take up what is new, but for the tasks that are fired by hand, and let go of what is over."""
        for kill in self._run(holding.take_kill(self._db, self._talk.who, self._job_id, EVERY_QUEUE, MANY)):
            self._in_loop(self._begin_kill(kill))
        claimed = self._run(holding.claim(self._db, self._talk.who, self._job_id, EVERY_QUEUE, MANY))
        if not (claimed or self._held):
            return
        there = self._run(scratch.waits_of_runs(self._db))
        still = {(row.id, row.claim) for row in there}
        for id, held in list(self._held.items()):
            if (id, held.claim.claim) not in still:
                del self._held[id]
                self._in_loop(_let_go(held.task))
        # Of the tasks that share a wait, the first one speaks for all.
        first = {row.id: row for row in reversed(there) if row.task_id not in by_hand}
        for one in claimed:
            if one.id in first:
                self._in_loop(self._begin(one, first[one.id]))

    def pass_time(self, now: datetime, until: datetime) -> datetime:
        """Let triggers run until one of them has something to say, or until a date; tell what the clock says then."""
        self._loop.move_to(now)
        if not (self._over or self._killed):
            self._in_loop(self._wait(until))
        return self._loop.now

    def commit(self) -> None:
        """Say what triggers have said."""
        overs, killed = self._over, self._killed
        self._over, self._killed = [], []
        self._run(self._talk.store_logs())
        self._run(say(self._db, self._talk.who, overs))
        if killed:
            self._run(holding.acknowledge(self._db, self._talk.who, killed))

    def _in_loop(self, act: Coroutine[Any, Any, Answer]) -> Answer:
        with kept_by(LoopClock(self._loop)):
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
        waiter = Waiter(waiting, self._talk, self._loop)
        with heard(waiter), answering_async(waiter):
            try:
                trigger = self._made(claimed.id, claimed.classpath, claimed.kwargs)
            except BaseException as error:
                BaseTrigger().log.error("The trigger could not be made: %s", error)
                self._say(claim, crash_of(error))
                return
            trigger.task_instance = WaitingTask(
                waiting.dag_id, waiting.run_id, waiting.task_id, waiting.map_index, waiting.try_number
            )
            # It takes along who hears and who answers it.
            task = self._loop.create_task(drive(trigger, lambda how: self._say(claim, how)), name=repr(trigger))
        self._held[claim.id] = Held(claim, trigger, task)

    def _made(self, id: int, classpath: str, sealed: str) -> BaseTrigger:
        trigger = make_trigger(find_trigger(classpath), self._sealer.open(sealed, wait(id, classpath)))
        trigger.trigger_id = id
        return trigger

    def _say(self, claim: Claim, how: WaitOver) -> None:
        self._over.append(Over(claim, how))
        self._ring()

    async def _begin_kill(self, kill: Kill) -> None:
        held = self._held.pop(kill.trigger_id, None)
        task = self._loop.create_task(self._kill(kill, held), name=f"on_kill of wait {kill.trigger_id}")
        self._kills.add(task)
        task.add_done_callback(self._kills.discard)

    async def _kill(self, kill: Kill, held: Held | None) -> None:
        try:
            trigger = held.trigger if held else self._made(kill.trigger_id, kill.classpath, kill.kwargs)
            async with asyncio.timeout(kill.time_left.total_seconds()):
                await trigger.on_kill(kill.reason)
        except BaseException:
            BaseTrigger().log.exception("on_kill of wait %d has failed", kill.trigger_id)
        if held:
            await _let_go(held.task)
        self._killed.append(Claim(kill.trigger_id, kill.claim))
        self._ring()

    def _ring(self) -> None:
        if self._bell is not None:
            _ring(self._bell)


async def _let_go(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _ring(bell: asyncio.Future[None]) -> None:
    if not bell.done():
        bell.set_result(None)
