"""What may go on next: queued runs begin, scheduled tasks are queued, as far as there is room.

The turn is read before the room is counted. If somebody else has handed out room in the meantime, the statement is
refused, and the next step counts anew.
"""

from bide.scheduler.room import Room
from bide.store import queueing, runs, views
from bide.store.database import Database

MOST_LOOKS = 20
"""Looks past those who have met a limit, in one step."""
BESIDE = 16
"""So many are looked at beside those for whom there are slots, because some may have met another limit."""


async def begin_runs(db: Database, who: str, limit: int) -> int:
    """Start queued runs of DAGs that may have another one."""
    turn = await views.current_turn(db)
    ids = await views.beginnable(db, limit)
    return len(await runs.begin(db, who, turn, ids)) if ids else 0


async def queue_tasks(db: Database, who: str, limit: int) -> int:
    """Queue what there is room for, and tell how many that were."""
    turn = await views.current_turn(db)
    room = Room.of(await views.pool_room(db), await views.busy(db))
    # Thousands may wait for the few slots that have just become free.
    look_at = min(limit, room.most_free + BESIDE)
    admitted = []
    for _ in range(MOST_LOOKS):
        found = await views.candidates(db, room.open_pools, look_at, room.full_runs, room.full_tasks, room.full_in_run)
        admitted = room.admit(found)
        if admitted or len(found) < look_at:
            break
        look_at = limit
    return len(await queueing.enqueue(db, who, turn, admitted))
