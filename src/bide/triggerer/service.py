"""The triggerer as a service: it claims waits while it has room, shares them with the others, and leaves in order."""

import asyncio
import logging
import os
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta

from bide import keys
from bide.hosting.answers import Answers
from bide.process.loop import Chore
from bide.process.membership import Member
from bide.process.program import Ground, first_of
from bide.process.spawn import DEFAULT_CODE, environment
from bide.process.wakes import Bell
from bide.sealing import Sealer
from bide.store import holding, jobs
from bide.store.jobs import JobType, NewJob
from bide.store.wake import Channel
from bide.triggerer.comparison import Comparison
from bide.triggerer.crew import Crew
from bide.triggerer.holdings import Holdings
from bide.triggerer.logs import TriggerLogs
from bide.triggerer.outbox import Outbox
from bide.triggerer.runner import Manner, Runner
from bide.triggerer.sharing import surplus
from bide.triggerer.usage import Usage
from bide.triggerer.watch import LOOK_EVERY_SEC, Watch

log = logging.getLogger(__name__)

COMMIT_EVERY_SEC = 1.0
COMMIT_AT_MOST_EVERY_SEC = 0.001
COMPARE_EVERY_SEC = 3.0
COMPARE_AT_MOST_EVERY_SEC = 0.2
STORE_LOGS_EVERY_SEC = 0.3
SHARE_EVERY_SEC = 2.0
SHARE_AT_MOST_EVERY_SEC = 1.0
STORE_USAGE_EVERY_SEC = 3.0
TIDY_EVERY_SEC = 1.0
KEEPS_OFF_SEC = 2.0
"""After it has handed waits over it claims none for so long: they are meant for others."""
MOST_UNSAID = 20_000
LAST_COMMIT_WITHIN_SEC = 0.3
NO_QUEUE = ""


class Triggerer:
    """Waits on behalf of deferred tasks."""

    name = "triggerer"

    def __init__(self, place: Ground, environ: Mapping[str, str] = os.environ, code: str = DEFAULT_CODE) -> None:
        """`environ` is this process's own; runners see what is harmless of it."""
        given, db = place.settings.triggerer, place.db
        self._given = given
        self._db = db
        self._bells = place.bells
        self._queues = given.queues or (NO_QUEUE,)
        self._free, self._hints = place.bells.bell(Channel.TRIGGERER), place.bells.bell(Channel.TRIGGERER)
        self._others = place.bells.bell(Channel.TRIGGERER)
        self._to_say, self._killed = Bell(), Bell()
        known = keys.keys(place.settings)
        sealer = Sealer(known)
        patience = timedelta(seconds=given.kill_deadline_sec)
        self._outbox = Outbox(db, self._to_say.ring)
        self._logs = TriggerLogs(db, place.settings.worker.log_limit_kb)
        self._usage = Usage(db)
        secrets = (place.url, place.settings.database.url, *known)
        manner = Manner(place.settings.core.dags_dir, environment(environ, secrets, place.settings.operators), code)
        self._holdings = Holdings(
            db,
            sealer,
            Answers(db, place.bells, sealer, environ, patience),
            self._outbox,
            self._logs,
            self._usage,
            lambda desk: Crew(manner, desk, given.runners, given.unused_sec),
            self._killed.ring,
        )
        self._comparison = Comparison(db, self._holdings.ledger, self._outbox.__contains__)
        self._watch = Watch(self._holdings, given.hold_limit_sec, given.stuck_sec)
        self._claiming = asyncio.Lock()
        self._draining = False
        self._keeps_off_until = 0.0
        self._was_full = False
        self._has_surplus = False
        self._member: Member | None = None

    @property
    def runners(self) -> Sequence[Runner]:
        """The processes that run its triggers."""
        return self._holdings.crew.all

    def job(self) -> NewJob:
        """Say what to register."""
        return NewJob(
            job_type=JobType.TRIGGERER,
            hostname="",
            capacity=self._given.capacity,
            queues=self._given.queues,
            heartbeat_sec=self._given.job_heartbeat_sec,
        )

    def chores(self) -> Sequence[Chore]:
        """List what it does again and again."""
        given = self._given
        return (
            Chore("The triggerer's claiming", self.claim, given.poll_sec, self._free),
            Chore("The triggerer's committing", self.commit, COMMIT_EVERY_SEC, self._to_say, COMMIT_AT_MOST_EVERY_SEC),
            Chore("The triggerer's comparing", self.compare, COMPARE_EVERY_SEC, self._hints, COMPARE_AT_MOST_EVERY_SEC),
            Chore("The triggerer's acknowledging", self.acknowledge, COMMIT_EVERY_SEC, self._killed),
            Chore("The triggerer's log keeping", self._logs.store, STORE_LOGS_EVERY_SEC),
            Chore("The triggerer's sharing", self.share, SHARE_EVERY_SEC, self._others, SHARE_AT_MOST_EVERY_SEC),
            Chore("The triggerer's record keeping", self.store_usage, STORE_USAGE_EVERY_SEC),
            Chore("The triggerer's watching", self._watch.look, LOOK_EVERY_SEC),
            Chore("The triggerer's tidying", self.tidy, TIDY_EVERY_SEC),
        )

    async def begin(self, member: Member) -> None:
        """Start with nothing under a new registration."""
        self._member = member
        member.may_beat = self._watch.beats
        self._outbox.who = member.who
        self._draining = False
        # Others may have more than their share.
        self._bells.ring(Channel.TRIGGERER)

    async def claim(self) -> bool:
        """Take free waits as far as there is room; true if there may be more."""
        async with self._claiming:
            room = self._room()
            if self._member is None or room <= 0:
                return False
            limit = min(room, self._given.max_trigger_to_select_per_loop)
            claimed = await holding.claim(self._db, self._member.who, self._member.id, self._queues, limit)
            await self._holdings.take(claimed)
            if claimed:
                log.info("Triggers claimed: %d, held now: %d.", len(claimed), len(self._holdings.waits))
        return len(claimed) == limit

    async def commit(self) -> bool:
        """Say how waits ended, and wake who goes on from there; true if there is more to say."""
        if self._outbox.lets_all_go_on:
            _, said = await asyncio.gather(self._logs.store(), self._outbox.commit())
        else:
            # Before its end: whoever reads on after the end of a task finds all of its log.
            await self._logs.store()
            said = await self._outbox.commit()
        self._holdings.ledger.remove(*said)
        if not said:
            return False
        self._bells.ring(Channel.SCHEDULER)
        if self._was_full:
            self._free.ring()
        return len(self._outbox) > 0

    async def compare(self) -> None:
        """Find the waits that were taken away; where somebody has stopped them, let their `on_kill` run."""
        if self._member is None or self._draining:
            return
        me, who = self._member.id, self._member.who
        gone = await self._comparison.gone(who, me)
        kills = await self._holdings.kills.take(who, me, self._queues)
        await self._holdings.kill(kills)
        self._holdings.let_go(gone)

    async def acknowledge(self) -> None:
        """Say which calls of `on_kill` have run: their tasks may go on."""
        if self._member is not None and await self._holdings.kills.acknowledge(self._member.who):
            self._bells.ring(Channel.SCHEDULER)

    async def share(self) -> bool:
        """Hand waits over to triggerers that have far fewer; true if there are more to be handed over."""
        if self._member is None or self._draining:
            return False
        me, who = self._member.id, self._member.who
        number = surplus(me, await jobs.loads(self._db))
        # Whoever is just leaving holds as little as a newcomer, and is gone at the next look.
        lasts, self._has_surplus = self._has_surplus, number > 0
        if not (number and lasts):
            return False
        some = [held for held in self._holdings.waits.values() if not held.strikes][-number:]
        claims = [held.claim for held in some]
        async with self._claiming:
            self._keeps_off_until = time.monotonic() + KEEPS_OFF_SEC
            released = await holding.release(self._db, who, me, claims, "handed over to a triggerer with far fewer")
            ids = {claim.id for claim in released}
            self._holdings.let_go(claim for claim in claims if claim.id in ids)
        log.info("%d triggers were handed over to others.", len(released))
        self._bells.ring(Channel.TRIGGERER)
        return bool(released)

    async def store_usage(self) -> None:
        """Tell what the busiest triggers use, and how many have come to their end."""
        fired, failed = self._outbox.counted()
        if fired or failed:
            log.info("%d triggers have fired and %d have failed; %d run.", fired, failed, len(self._holdings.waits))
        if self._member is not None:
            await self._usage.store(self._member.id)

    async def tidy(self) -> None:
        """End processes that nobody needs, and start those that are."""
        if not self._draining:
            self._holdings.crew.tidy()
            self._holdings.place_again()

    async def drain(self, hurry: asyncio.Event) -> None:
        """Hand everything over at once, then let the triggers clean up."""
        self._draining = True
        # Whoever is being claimed is there when this is free.
        async with self._claiming:
            if self._member is not None:
                await first_of(self._last_commit(), hurry.wait())
                released = await holding.release_all(
                    self._db, self._member.who, self._member.id, "its triggerer leaves"
                )
                log.info("%d triggers were left to others.", len(released))
                self._bells.ring(Channel.TRIGGERER)
        await first_of(self._holdings.close(), hurry.wait())
        if hurry.is_set():
            self._holdings.crew.kill()
        await self._logs.store()

    async def drop(self) -> None:
        """Let go of everything without a word; the triggers clean up."""
        self._member = None
        self._outbox.forget()
        self._comparison.forget()
        await self._holdings.close()
        self._logs.forget()
        self._usage.clear()

    def _room(self) -> int:
        keeps_off = self._draining or time.monotonic() < self._keeps_off_until
        if keeps_off or len(self._outbox) > MOST_UNSAID or not self._watch.beats():
            return 0
        room = self._given.capacity - len(self._holdings.waits)
        if room <= 0 and not self._was_full:
            log.warning("The capacity of %d triggers is reached; others have to wait.", self._given.capacity)
        self._was_full = room <= 0
        return room

    async def _last_commit(self) -> None:
        """Say what can be said quickly; what cannot runs again elsewhere."""
        try:
            async with asyncio.timeout(LAST_COMMIT_WITHIN_SEC):
                while await self.commit():
                    pass
        except Exception as error:
            log.warning("%d events were not committed before leaving: %s", len(self._outbox), error)
