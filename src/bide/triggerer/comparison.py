"""Holding what is here against what the database says: each finds what the other has lost, or taken away."""

from collections.abc import Callable, Sequence

from bide.store import holding, views
from bide.store.database import Database
from bide.store.holding import Claim
from bide.triggerer.ledger import Ledger

LOST = "the answer to its claim was lost"


class Comparison:
    """Compares, lets go what was taken away, and gives back what nobody here knows of."""

    def __init__(self, db: Database, ledger: Ledger, is_being_said: Callable[[int], bool]) -> None:
        """`is_being_said` tells whether a wait's end is on its way to the database."""
        self._db = db
        self._ledger = ledger
        self._is_being_said = is_being_said
        self._unknown: set[Claim] = set()

    async def gone(self, who: str, triggerer_id: int) -> list[Claim]:
        """Look once; return the waits that are no longer this triggerer's."""
        parts = self._ledger.differing(await views.parts_of_waits(self._db, triggerer_id))
        if not parts:
            self._unknown.clear()
            return []
        before = list(self._ledger.in_parts(parts))
        told = set(await views.waits_in_parts(self._db, triggerer_id, parts))
        await self._give_back(who, triggerer_id, [claim for claim in told if claim not in self._ledger])
        return [
            claim
            for claim in before
            if claim not in told and claim in self._ledger and not self._is_being_said(claim.id)
        ]

    def forget(self) -> None:
        """Begin afresh."""
        self._unknown.clear()

    async def _give_back(self, who: str, triggerer_id: int, unknown: Sequence[Claim]) -> None:
        # What is only on its way looks unknown once, but not twice.
        lost = [claim for claim in unknown if claim in self._unknown]
        self._unknown = set(unknown)
        if lost:
            await holding.release(self._db, who, triggerer_id, lost, LOST)
