"""What the triggerer has to say in the database, gathered while the last of it is being committed.

How a wait ended stays here until its verb was carried out. A verb that does not bring its wait back was refused: the
wait was no longer this triggerer's, and there is nothing more to say.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

from bide.errors import DatabaseUnavailable
from bide.hosting.batches import some_of
from bide.hosting.wait_overs import Over, say
from bide.model.wait_over import Crashes, Ends, Fires
from bide.store import holding
from bide.store.database import Database
from bide.store.holding import Parked

log = logging.getLogger(__name__)

MOST_AT_ONCE = 1000
FIRST_PAUSE = timedelta(seconds=5)
LONGER_PAUSE = timedelta(seconds=60)


class Outbox:
    """Keeps what is to be said until it is committed."""

    def __init__(self, db: Database, put: Callable[[], None]) -> None:
        """`put` is called when there is something to commit."""
        self.who = ""
        self._db = db
        self._put = put
        self._overs: dict[int, Over] = {}
        self._parked: dict[int, Parked] = {}
        self._one_at_a_time = asyncio.Lock()
        # Since somebody has asked last.
        self.fired = self.failed = 0

    def __contains__(self, id: int) -> bool:
        return id in self._overs or id in self._parked

    def __len__(self) -> int:
        return len(self._overs) + len(self._parked)

    @property
    def lets_all_go_on(self) -> bool:
        """Whether no task ends by what is to be said: all of them go on, and write on in their logs."""
        return all(isinstance(over.how, Fires) for over in self._overs.values())

    def counted(self) -> tuple[int, int]:
        """Tell how many triggers have fired, and how many have failed, since this was asked before."""
        counts = self.fired, self.failed
        self.fired = self.failed = 0
        return counts

    def put(self, over: Over) -> None:
        """Say how a wait ended."""
        self._overs[over.claim.id] = over
        if isinstance(over.how, Crashes):
            self.failed += 1
        else:
            self.fired += 1
        self._put()

    def park(self, claim: holding.Claim, why: str, *, again: bool) -> None:
        """Put a wait aside whose code or key is not there, for longer if that is so `again`."""
        self._parked[claim.id] = Parked(claim.id, claim.claim, why, LONGER_PAUSE if again else FIRST_PAUSE)
        self._put()

    def forget(self) -> None:
        """Say nothing of all this: it is no longer this triggerer's."""
        self._overs.clear()
        self._parked.clear()

    async def commit(self) -> list[holding.Claim]:
        """Say what is here, and return which waits that was about. What fails stays."""
        async with self._one_at_a_time:
            overs = some_of(self._overs.values(), MOST_AT_ONCE, _length)
            parked = list(self._parked.values())[:MOST_AT_ONCE]
            if overs:
                await self._say(overs)
            if parked:
                await holding.park(self._db, self.who, parked)
            # They may have been forgotten meanwhile, and the same waits may have been claimed again and be over again.
            for over in overs:
                if self._overs.get(over.claim.id) is over:
                    del self._overs[over.claim.id]
            for one in parked:
                if self._parked.get(one.id) is one:
                    del self._parked[one.id]
            return [*(over.claim for over in overs), *(holding.Claim(one.id, one.claim) for one in parked)]

    async def _say(self, overs: Sequence[Over]) -> None:
        """Say it of many. If the database takes offence at one of them, the others go without it."""
        try:
            await say(self._db, self.who, overs)
        except DatabaseUnavailable:
            raise
        except Exception as error:
            if len(overs) > 1:
                for over in overs:
                    await self._say([over])
            elif isinstance(overs[0].how, Crashes):
                # The comparison with the database finds the wait, and lets it run again.
                log.exception("That wait %d has failed cannot be stored.", overs[0].claim.id)
            else:
                log.error("How wait %d ended cannot be stored: %r", overs[0].claim.id, error)
                await self._say([Over(overs[0].claim, Crashes(f"What the trigger has said cannot be stored: {error}"))])


def _length(over: Over) -> int:
    match over.how:
        case Fires(event=event):
            return len(event)
        case Ends(xcoms=xcoms):
            return sum(map(len, xcoms.values()))
        case Crashes(error=error, traceback=traceback):
            return len(error) + len(traceback)
