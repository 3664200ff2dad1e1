"""Holding what runs here against what the database says: each finds what the other has lost, or taken away."""

from collections.abc import Callable

from bide.model.states import TaskState
from bide.store import legs, views
from bide.store.database import Database
from bide.store.rows import Leg as LegKey
from bide.store.views import HeldLeg
from bide.worker.desk import Desk
from bide.worker.leg import Leg
from bide.worker.outbox import Outbox

GIVEN_TO_NOBODY = "the answer to its start was lost"


class Comparison:
    """Compares, stops what was taken away, and gives back what nobody here knows of."""

    def __init__(self, db: Database, desk: Desk, outbox: Outbox, is_starting: Callable[[LegKey], bool]) -> None:
        self._db = db
        self._desk = desk
        self._outbox = outbox
        self._is_starting = is_starting
        self._unknown: set[LegKey] = set()

    async def compare(self, who: str, worker_id: int) -> None:
        """Look once."""
        ran_before = list(self._desk.legs.values())
        told = {LegKey(row.id, row.child_leg): row for row in await views.legs_of(self._db, worker_id)}
        for leg in ran_before:
            if leg.key in self._desk.legs and (why := taken_away(leg, told.get(leg.key))):
                self._desk.stop(leg, why)
        # What is only on its way looks unknown once, but not twice.
        unknown = {key for key in told if not self._knows(key)}
        lost, self._unknown = unknown & self._unknown, unknown
        if lost:
            await legs.drain(self._db, who, [key for key in lost if told[key].leg == key.leg])
            await legs.stopped(self._db, who, list(lost))

    def forget(self) -> None:
        """Begin afresh."""
        self._unknown = set()

    def _knows(self, key: LegKey) -> bool:
        return key in self._desk.legs or key in self._outbox or self._is_starting(key)


def taken_away(leg: Leg, row: HeldLeg | None) -> str | None:
    """Say why a leg that runs here must stop, or None if it is still this worker's."""
    if row is None:
        return "the engine has given it to somebody else"
    if row.leg == leg.key.leg and row.state is TaskState.RUNNING:
        return None
    if row.state is TaskState.RESTARTING:
        return "its task was cleared"
    if row.state is TaskState.SHUTDOWN:
        return "its worker stops"
    return f"its task was set to {row.state}"
