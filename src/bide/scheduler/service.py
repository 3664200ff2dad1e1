"""The service: look what there is to do, do it, and look again when something has changed or is due."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta

from bide import keys
from bide.process.loop import Chore
from bide.process.membership import Member
from bide.process.program import Ground
from bide.process.waits import WaitWriter
from bide.scheduler.household import Household
from bide.scheduler.rounds import Rounds
from bide.store import jobs
from bide.store.jobs import JobType, NewJob
from bide.store.wake import Channel

log = logging.getLogger(__name__)

LOOK_AT_MOST_EVERY_SEC = 0.01
"""Under load: what has ended meanwhile is looked at together."""
NOTICE_EVERY_SEC = 1.0
TIDY_EVERY_SEC = 15.0


class SchedulerService:
    """One scheduler among perhaps several, which share the runs among them."""

    name = "scheduler"

    def __init__(self, place: Ground) -> None:
        self._place = place
        self._settings = place.settings.scheduler
        self._bell = place.bells.bell(Channel.SCHEDULER)
        self._rounds: Rounds | None = None
        self._household: Household | None = None
        self._member: Member | None = None
        self._alarm: asyncio.TimerHandle | None = None

    def job(self) -> NewJob:
        """Say what to register."""
        return NewJob(job_type=JobType.SCHEDULER, hostname="", heartbeat_sec=self._settings.job_heartbeat_sec)

    async def begin(self, member: Member) -> None:
        """Start under a new registration."""
        db, limit = self._place.db, self._settings.batch_size
        kill_patience = timedelta(seconds=self._place.settings.triggerer.kill_deadline_sec)
        self._member = member
        settings = self._place.settings
        writer = WaitWriter(keys.sealer(settings), by_queue=settings.triggerer.queues_enabled)
        self._rounds = Rounds(db, self._place.bells.ring, writer, member.who, kill_patience, limit)
        self._household = Household(db, member.who, limit)

    def chores(self) -> Sequence[Chore]:
        """List what it does again and again."""
        assert self._rounds is not None
        assert self._household is not None
        return (
            Chore("scheduling", self.look, self._settings.poll_sec, self._bell, LOOK_AT_MOST_EVERY_SEC),
            Chore("noticing the dead", self.notice, NOTICE_EVERY_SEC),
            Chore("tidying up", self._household.tidy_up, TIDY_EVERY_SEC),
        )

    async def look(self) -> bool:
        """Do what there is to do now, and set an alarm for what is due next; true if there is more."""
        assert self._rounds is not None
        until_due = await self._rounds.go()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if until_due is not None and until_due > timedelta(0):
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(min(until_due.total_seconds(), 3600), self._bell.ring)
        return self._rounds.more

    async def notice(self) -> None:
        """Notice who is gone, and which share of the runs is this scheduler's own."""
        assert self._rounds is not None
        assert self._household is not None
        assert self._member is not None
        schedulers = await jobs.jobs_at_work(self._place.db, JobType.SCHEDULER)
        if self._member.id in schedulers.ids:
            self._rounds.shares, self._rounds.share = len(schedulers.ids), schedulers.ids.index(self._member.id)
        if await self._household.notice_the_dead(schedulers.now, schedulers.server_since):
            self._bell.ring()
            # What triggerers held that are gone is free for others.
            self._place.bells.ring(Channel.TRIGGERER)

    async def drain(self, hurry: asyncio.Event) -> None:
        """There is nothing to hand over: what is not done yet stands in the database."""

    async def drop(self) -> None:
        """Forget the plans."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._rounds = self._household = None
