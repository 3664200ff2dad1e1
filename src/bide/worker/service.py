"""The worker as a service: it claims queued legs while it has room, and leaves in order."""

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial

from bide import keys
from bide.hosting.answers import Answers
from bide.hosting.logs import LogWriter
from bide.model.outcome import Deferred
from bide.model.retry import RetryPolicy
from bide.process.loop import Chore
from bide.process.membership import Member
from bide.process.program import Ground, first_of
from bide.process.spawn import DEFAULT_CODE, environment
from bide.process.waits import WaitWriter
from bide.process.wakes import Bell
from bide.sealing import Sealer
from bide.store import callbacks, legs, views
from bide.store.callbacks import Taken
from bide.store.jobs import JobType, NewJob
from bide.store.legs import Started
from bide.store.records import log_sizes
from bide.store.rows import Leg as LegKey
from bide.store.wake import Channel
from bide.worker.call import Call, Calls
from bide.worker.comparison import Comparison
from bide.worker.desk import Desk
from bide.worker.leg import Leg
from bide.worker.outbox import MOST_AT_ONCE, Outbox
from bide.worker.stable import KILLED_WITHIN_SEC, Stable
from bide.worker.versions import Versions
from bide.worker.warm import Manner

COMPARE_EVERY_SEC = 3.0
COMPARE_AT_MOST_EVERY_SEC = 0.2
RECORDS_EVERY_SEC = 0.3
GIVE_BACK_EVERY_SEC = 0.25
TIDY_EVERY_SEC = 1.0
COMMIT_EVERY_SEC = 1.0
CALL_EVERY_SEC = 1.0
CALL_AT_MOST_EVERY_SEC = 0.1
CLAIM_AT_MOST_EVERY_SEC = 0.002
COMMIT_AT_MOST_EVERY_SEC = 0.015
"""Under load: what comes in meanwhile shares a transaction."""
MOST_UNSAID_PER_SLOT = 4


class Worker:
    """Runs legs in its children and says how they ended."""

    name = "worker"

    def __init__(self, place: Ground, environ: Mapping[str, str] = os.environ, code: str = DEFAULT_CODE) -> None:
        """`environ` is this process's own; children see what is harmless of it."""
        given, db = place.settings.worker, place.db
        self._given = given
        self._db = db
        self._bells = place.bells
        self._room, self._hints = place.bells.bell(Channel.WORKER), place.bells.bell(Channel.WORKER)
        self._to_say, self._full, self._left, self._to_call = Bell(), Bell(), Bell(), Bell()
        self._logs = LogWriter(db)
        known = keys.keys(place.settings)
        sealer = Sealer(known)
        patience = timedelta(seconds=place.settings.triggerer.kill_deadline_sec)
        answers = Answers(db, place.bells, sealer, environ, patience)
        writer = WaitWriter(sealer, by_queue=place.settings.triggerer.queues_enabled)
        self._outbox = Outbox(db, writer, self._logs, self._to_say.ring)
        spare_sec = given.load_sec + given.grace_sec
        calls = Calls(db, self._logs, given.callback_timeout_sec, spare_sec, self._to_call.ring)
        self._desk = Desk(
            self._outbox,
            answers,
            calls,
            given.slots,
            given.grace_sec,
            given.child_memory_mb,
            self._one_left,
            self._full.ring,
        )
        secrets = (place.url, place.settings.database.url, *known)
        manner = Manner(
            root=place.settings.core.dags_dir,
            environ=environment(environ, secrets, place.settings.operators),
            legs_per_child=given.legs_per_child,
            child_memory_mb=given.child_memory_mb,
            code=code,
        )
        self._stable = Stable(manner, self._desk)
        self._starting: set[LegKey] = set()
        self._comparison = Comparison(db, self._desk, self._outbox, self._starting.__contains__)
        self._versions = Versions(db)
        self._claiming = asyncio.Lock()
        self._draining = False
        self._member: Member | None = None

    def job(self) -> NewJob:
        """Say what to register."""
        return NewJob(
            job_type=JobType.WORKER,
            hostname="",
            capacity=self._given.slots,
            queues=self._given.queues,
            heartbeat_sec=self._given.job_heartbeat_sec,
        )

    def chores(self) -> Sequence[Chore]:
        """List what it does again and again."""
        return (
            Chore("The worker's claiming", self.step, self._given.poll_sec, self._room, CLAIM_AT_MOST_EVERY_SEC),
            Chore("The worker's committing", self.commit, COMMIT_EVERY_SEC, self._to_say, COMMIT_AT_MOST_EVERY_SEC),
            Chore("The worker's calling back", self.call_back, CALL_EVERY_SEC, self._to_call, CALL_AT_MOST_EVERY_SEC),
            Chore("The worker's comparing", self.compare, COMPARE_EVERY_SEC, self._hints, COMPARE_AT_MOST_EVERY_SEC),
            Chore("The worker's record keeping", self.keep_records, RECORDS_EVERY_SEC, self._full),
            Chore("The worker's giving back", self.give_back, GIVE_BACK_EVERY_SEC),
            Chore("The worker's tidying", self.tidy, TIDY_EVERY_SEC),
        )

    async def begin(self, member: Member) -> None:
        """Start with nothing under a new registration."""
        self._member = member
        self._outbox.who, self._outbox.worker_id = member.who, member.id
        self._draining = False

    async def step(self) -> bool:
        """Take up as many queued legs as there is room for; true if others have taken some of them."""
        room = self._desk.room
        if self._draining or self._is_crowded() or room <= 0 or self._member is None:
            return False
        async with self._claiming:
            offered = await views.offered(self._db, self._given.queues, room)
            if not offered or self._draining:
                return False
            self._starting.update(offered)
            try:
                started = await legs.start(self._db, self._member.who, self._member.id, offered)
                await self._versions.learn(one.dag_version_id for one in started)
                logged = await log_sizes(self._db, {one.id: one.try_number for one in started if not one.opens})
                for one in started:
                    self._run(one, logged.get(one.id, 0))
            finally:
                self._starting.difference_update(offered)
        return len(started) < len(offered)

    async def commit(self) -> bool:
        """Say how legs ended, and wake who goes on from there; true if there is more to say."""
        was_crowded, kinds = self._is_crowded(), await self._outbox.commit()
        if was_crowded:
            self._room.ring()
        if kinds is None:
            return False
        self._bells.ring(Channel.SCHEDULER)
        self._to_call.ring()
        if Deferred in kinds:
            self._bells.ring(Channel.TRIGGERER)
        return len(self._outbox) >= MOST_AT_ONCE

    async def call_back(self) -> bool:
        """Say what came of calls, and take up as many as may be made at the same time; true if there may be more."""
        calls, member = self._desk.calls, self._member
        if member is None:
            return False
        await calls.say(member.who)
        async with self._claiming:
            if self._draining or (room := calls.room) <= 0:
                return False
            queues, within = self._given.queues, calls.heard_within
            taken = await callbacks.take_callback(self._db, member.who, member.id, queues, room, within)
            await self._versions.learn(one.started.dag_version_id for one in taken)
            logged = await log_sizes(self._db, {one.started.id: one.started.try_number for one in taken})
            for one in taken:
                self._call(one, logged.get(one.started.id, 0))
        return len(taken) == room

    async def compare(self) -> None:
        """Hold what runs here against what the database says."""
        if self._member is not None:
            await self._comparison.compare(self._member.who, self._member.id)

    async def keep_records(self) -> None:
        """Store what legs have used, and what running ones have written; let those write on that had to wait."""
        await self._outbox.store_records()
        written = [leg for leg in self._desk.legs.values() if leg.log.pending_bytes]
        if written:
            await self._logs.store([leg.log for leg in written])
            for leg in written:
                if leg.child is not None:
                    leg.child.read_log_again()

    async def give_back(self, *, all_of_them: bool = False) -> None:
        """Give back the legs that wait for a slot longer than was thought: they run elsewhere, or here later."""
        legs_back = self._desk.given_back(all_of_them=all_of_them)
        if legs_back and self._member is not None:
            keys = [leg.key for leg in legs_back]
            self._starting.update(keys)
            try:
                await legs.drain(self._db, self._member.who, keys)
                await legs.stopped(self._db, self._member.who, keys)
            finally:
                self._starting.difference_update(keys)
            self._bells.ring(Channel.SCHEDULER)

    async def tidy(self) -> None:
        """End processes that nobody needs, and have one ready for the next file."""
        given = self._given
        self._stable.tidy(given.load_sec, given.unused_sec, given.most_unused, given.grace_sec)
        if given.most_unused and not self._draining:
            self._stable.keep_spare()

    async def drain(self, hurry: asyncio.Event) -> None:
        """Let legs end for a while, hand the others over, and end all processes."""
        self._draining = True
        # Whoever is being started is there when this is free.
        async with self._claiming:
            await self.give_back(all_of_them=True)
        await self._until_empty(self._given.drain_sec, hurry)
        if self._member is not None:
            # Those that are still being made are made again by others, once this worker is gone.
            await self._desk.calls.say(self._member.who)
            self._desk.calls.forget()
        running = [leg for leg in self._desk.legs.values() if leg.stopping is None]
        if running and self._member is not None:
            await legs.drain(self._db, self._member.who, [leg.key for leg in running])
            for leg in running:
                if leg.key in self._desk.legs:
                    self._desk.stop(leg, "its worker stops, so it will run again")
            await self._until_empty(self._given.grace_sec + KILLED_WITHIN_SEC, hurry)
            for leg in list(self._desk.legs.values()):
                if leg.child is not None:
                    self._desk.kill(leg.child)
            await self._until_empty(2 * KILLED_WITHIN_SEC, asyncio.Event())
        while len(self._outbox):
            await self.commit()
        await self._stable.close()
        await self._outbox.store_records()

    async def drop(self) -> None:
        """Let go of everything without a word."""
        self._member = None
        self._desk.forget()
        self._outbox.forget()
        self._comparison.forget()
        await self._stable.close()

    def _run(self, started: Started, logged: int) -> None:
        known = self._versions.of(started.dag_version_id)
        policy = RetryPolicy(retries=started.retries)
        if known is not None:
            policy = known.policies.get(started.task_id, policy)
        leg = Leg(started, policy, self._given.log_limit_kb, logged)
        if known is None:
            self._desk.refuse(leg, "Its run has no version of its DAG, so there is no code to run.")
            return
        find = partial(self._stable.process_for, known.version)
        # It may begin while the leg waits for a slot. What stands in the way is told when there is one.
        with suppress(OSError):
            find()
        self._desk.run(leg, find)

    def _call(self, taken: Taken, logged: int) -> None:
        call = Call(taken, self._desk.calls.within, self._given.log_limit_kb, logged)
        known = self._versions.of(taken.started.dag_version_id)
        if known is None:
            self._desk.calls.refuse(call, "Its run has no version of its DAG, so there is no code to call.")
            return
        try:
            self._desk.calls.make(call, self._stable.process_for(known.version))
        except OSError as error:
            self._desk.calls.refuse(call, f"No process can be started: {error}.")

    def _is_crowded(self) -> bool:
        """Whoever cannot say how legs ended takes up no more of them."""
        return len(self._outbox) > MOST_UNSAID_PER_SLOT * self._given.slots

    def _one_left(self) -> None:
        self._room.ring()
        self._left.ring()

    async def _until_empty(self, within_sec: float, hurry: asyncio.Event) -> None:
        deadline = time.monotonic() + within_sec
        while (self._desk.legs or self._desk.calls.making()) and not hurry.is_set():
            left = deadline - time.monotonic()
            if left <= 0:
                return
            self._left.silence()
            await first_of(self._left.wait(min(left, 0.2)), hurry.wait())
