"""Who is gone, and what is left of them. Each chore works in a bounded batch and can fail without harm."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from bide.store import holding, jobs, legs
from bide.store.database import Database

GRACE = timedelta(seconds=1)
"""How long a process whose lock was freed may stay silent: it may only have lost a connection."""
SWEEP_AGE = timedelta(hours=1)

Chore = Callable[[], Awaitable[Sequence[object]]]


class Household:
    """The chores that any scheduler may do."""

    def __init__(self, db: Database, who: str, limit: int) -> None:
        self._db, self._who, self._limit = db, who, limit

    async def notice_the_dead(self) -> int:
        """Give up processes that are gone, and free what they held; tell how many rows that moved."""
        await jobs.suspect(self._db, self._who)
        buried = await jobs.bury(self._db, self._who, GRACE)
        freed = await holding.orphan(self._db, self._who, self._limit)
        rescued = await legs.rescue(self._db, self._who, self._limit)
        return len(buried) + len(freed) + len(rescued)

    async def tidy_up(self) -> int:
        """Give up calls of on_kill that took too long, try parked waits again, remove waits that nobody waits for."""
        given_up = await holding.give_up(self._db, self._who, self._limit)
        unparked = await holding.unpark(self._db, self._who, self._limit)
        swept = await holding.sweep(self._db, self._who, 0, SWEEP_AGE, self._limit)
        return len(given_up) + len(unparked) + len(swept)
