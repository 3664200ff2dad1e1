"""Rounds of scheduling: what is due, what follows from what has changed, what there is room for; until all is done."""

from collections.abc import Callable
from datetime import timedelta

from bide.process.waits import WaitWriter
from bide.scheduler.admission import Admission, begin_runs
from bide.scheduler.consequences import Consequences
from bide.scheduler.dates import Dates
from bide.scheduler.plans import Plans
from bide.scheduler.schedules import Schedules
from bide.scheduler.versions import adopt
from bide.store import views
from bide.store.database import Database
from bide.store.views import Agenda
from bide.store.wake import Channel

MOST_ROUNDS = 100
"""Rounds without a pause; then other parts of the process have their turn."""


class Rounds:
    """One scheduler's work; `share` of `shares` runs is its own."""

    def __init__(
        self,
        db: Database,
        ring: Callable[[Channel], object],
        writer: WaitWriter,
        who: str,
        kill_patience: timedelta,
        limit: int,
    ) -> None:
        self.shares, self.share = 1, 0
        self.more = False
        self._db, self._ring, self._who, self._limit = db, ring, who, limit
        self._kill_patience = kill_patience
        self.plans = Plans(db)
        self._consequences = Consequences(db, self.plans, who, kill_patience, limit)
        self._dates = Dates(db, self.plans, who, kill_patience, limit)
        self._schedules = Schedules(db, self.plans, who)
        self._admission = Admission(db, self.plans, writer, who, limit)

    async def go(self) -> timedelta | None:
        """Do what there is to do, and tell how long it is until something is due."""
        for _ in range(MOST_ROUNDS):
            agenda = await views.agenda(self._db)
            if not await self._round(agenda):
                self.more = False
                return agenda.until_due
        self.more = True
        return None

    async def _round(self, agenda: Agenda) -> int:
        done = 0
        if agenda.outdated:
            done += await adopt(self._db, self.plans, self._who, self._kill_patience)
        if agenda.launches:
            done += await self._schedules.launch_due()
        if agenda.until_due is not None and agenda.until_due <= timedelta(0):
            done += await self._dates.keep()
        if agenda.failing:
            done += await self._dates.finish_failing()
        if agenda.queued or done:
            done += await begin_runs(self._db, self._who, self._limit)
        if agenda.looks or done:
            done += await self._consequences.follow(self.shares, self.share)
        if agenda.scheduled or done:
            queued, deferred = await self._admission.hand_out()
            if queued:
                self._ring(Channel.WORKER)
            if deferred:
                self._ring(Channel.TRIGGERER)
            done += queued + deferred
        return done
