"""What may go on next: queued runs begin, scheduled tasks are queued or begin in their triggers, if there is room.

The turn is read before the room is counted. If somebody else has handed out room in the meantime, the statement is
refused, and the next step counts anew.
"""

from collections.abc import Sequence

from bide.model.wait import Wait
from bide.process.waits import WaitWriter
from bide.scheduler.plans import Plans
from bide.scheduler.room import Room
from bide.store import deferral, queueing, runs, views
from bide.store.database import Database
from bide.store.rows import Leg
from bide.store.views import Candidate

MOST_LOOKS = 20
"""Looks past those who have met a limit, in one step."""
BESIDE = 16
"""So many are looked at beside those for whom there are slots, because some may have met another limit."""


async def begin_runs(db: Database, who: str, limit: int) -> int:
    """Start queued runs of DAGs that may have another one."""
    turn = await views.current_turn(db)
    ids = await views.beginnable(db, limit)
    return len(await runs.begin(db, who, turn, ids)) if ids else 0


class Admission:
    """Hands out room to tasks."""

    def __init__(self, db: Database, plans: Plans, writer: WaitWriter, who: str, limit: int) -> None:
        self._db, self._plans, self._writer, self._who, self._limit = db, plans, writer, who, limit

    async def hand_out(self) -> tuple[int, int]:
        """Let go on what there is room for; tell how many tasks were queued, and how many began in their triggers."""
        turn = await views.current_turn(self._db)
        room = Room.of(await views.pool_room(self._db), await views.busy(self._db))
        admitted = await self._admitted(room)
        starts = await self._starts(admitted)
        queued = [Leg(one.id, one.leg) for one in admitted if one.id not in starts]
        deferred = 0
        if starts:
            waits = [(one, starts[one.id]) for one in admitted if one.id in starts]
            deferred = await self._defer_at_start(turn, waits)
            # The room was counted for both, and nobody else has had a turn if this one was ours.
            turn += 1
        return len(await queueing.enqueue(self._db, self._who, turn, queued)) if queued else 0, deferred

    async def _admitted(self, room: Room) -> list[Candidate]:
        # Thousands may wait for the few slots that have just become free.
        look_at = min(self._limit, room.most_free + BESIDE)
        for _ in range(MOST_LOOKS):
            found = await views.candidates(
                self._db, room.open_pools, look_at, room.full_runs, room.full_tasks, room.full_in_run
            )
            admitted = room.admit(found)
            if admitted or len(found) < look_at:
                return admitted
            look_at = self._limit
        return []

    async def _starts(self, admitted: Sequence[Candidate]) -> dict[int, Wait]:
        """Find those that begin in their triggers; whatever has begun goes on where it was."""
        fresh = [one for one in admitted if not one.resumes and one.dag_version_id is not None]
        versions = await self._plans.of({one.dag_version_id for one in fresh if one.dag_version_id is not None})
        starts = {}
        for one in fresh:
            version = versions.get(one.dag_version_id or 0)
            task = version.tasks.get(one.task_id) if version else None
            if task is not None and task.start_from_trigger is not None:
                starts[one.id] = task.start_from_trigger
        return starts

    async def _defer_at_start(self, turn: int, starts: Sequence[tuple[Candidate, Wait]]) -> int:
        numbers = await deferral.reserve_trigger_ids(self._db, len(starts))
        waits = [
            self._writer.stored(wait, Leg(one.id, one.leg), one.dag_version_id, one.queue, number)
            for (one, wait), number in zip(starts, numbers, strict=True)
        ]
        return len(await deferral.defer_at_start(self._db, self._who, turn, waits))
