"""Who is gone, and what is left of them. Each chore works in a bounded batch and can fail without harm."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from bide.store import callbacks, holding, jobs, legs
from bide.store.database import Database
from bide.store.jobs import Watch

log = logging.getLogger(__name__)

GRACE = timedelta(seconds=0.8)
"""How long a process whose lock was freed may stay silent: it may only have lost a connection. A little less than the
second between two looks, so that the next one finds that it has passed."""
LONGEST_GAP = timedelta(seconds=2.5)
"""A longer time between two looks breaks the watch. An outage that is shorter makes nobody late: whoever beats every
five seconds, and tries again every second, is back long before its lease of 10.5 s has ended."""
MOST_BATCHES = 20
SWEEP_AGE = timedelta(hours=1)
CALLBACKS_KEPT = timedelta(days=7)
MOST_CLAIMS = 5
"""A callback that was lost with so many workers is likely to have been what brought them down."""

Chore = Callable[[], Awaitable[Sequence[object]]]


class Household:
    """The chores that any scheduler may do."""

    def __init__(self, db: Database, who: str, limit: int) -> None:
        self._db, self._who, self._limit = db, who, limit
        self._watch: Watch | None = None

    async def notice_the_dead(self, now: datetime, server_since: datetime) -> int:
        """Give up processes that are gone, and free what they held; tell how many rows that moved.

        `now` is what the database's clock has just said, and since `server_since` there is this server. It may also be
        that nobody could reach the database, that the machine was asleep, that this process was frozen, or that
        somebody has set the clock. Then all the others look dead, and have a whole lease to show that they are not.
        """
        await jobs.suspect(self._db, self._who)
        buried = await jobs.bury(self._db, self._who, GRACE, self._watched(now, server_since))
        freed = await self._freed()
        rescued = await legs.rescue(self._db, self._who, self._limit)
        called = await callbacks.free_callback(self._db, self._who, MOST_CLAIMS, self._limit)
        return len(buried) + freed + len(rescued) + len(called)

    async def tidy_up(self) -> int:
        """Give up calls of on_kill that took too long, try parked waits again, remove waits that nobody waits for."""
        given_up = await holding.give_up(self._db, self._who, self._limit)
        unparked = await holding.unpark(self._db, self._who, self._limit)
        swept = await holding.sweep(self._db, self._who, 0, SWEEP_AGE, self._limit)
        forgotten = await callbacks.forget_callbacks(self._db, CALLBACKS_KEPT, self._limit)
        return len(given_up) + len(unparked) + len(swept) + forgotten

    async def _freed(self) -> int:
        """Free the waits of the dead, batch after batch: nobody waits a second for the next one."""
        freed = 0
        for _ in range(MOST_BATCHES):
            batch = len(await holding.orphan(self._db, self._who, self._limit))
            freed += batch
            if batch < self._limit:
                break
        return freed

    def _watched(self, now: datetime, server_since: datetime) -> Watch:
        """Look once more, and tell since when without a break."""
        last = self._watch
        if last is None:
            # It has not seen the others beat, but that they have lost their locks is told by the server.
            last = Watch(now, now, server_since)
        elif not timedelta(0) <= now - last.until <= LONGEST_GAP:
            log.warning(
                "Nobody was watched for %.1f s, so nobody is given up before they have had the time to show that they "
                "are alive.",
                abs((now - last.until).total_seconds()),
            )
            last = Watch(now, now, now)
        self._watch = Watch(last.since, now, max(last.calm_since, server_since))
        return self._watch
