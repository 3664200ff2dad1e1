"""The way of a task to an executor and back; the statements are in sql/queueing.sql."""

from collections.abc import Sequence

from msgspec import Struct

from bide.store.database import Database
from bide.store.rows import Changed, Leg, columns


class Refused(Struct, frozen=True):
    """A queued leg that the executor lost or refused."""

    id: int
    leg: int
    why: str


async def enqueue(db: Database, who: str, turn: int, legs: Sequence[Leg]) -> list[Changed]:
    """Queue tasks that there is room for; nothing comes back if somebody else has taken the turn."""
    return await db.verb("enqueue", who, legs, turn, *columns(Leg, legs))


async def unqueue(db: Database, who: str, legs: Sequence[Refused]) -> list[Changed]:
    """Take back what the executor did not take."""
    return await db.verb("unqueue", who, legs, *columns(Refused, legs))


async def wake(db: Database, who: str, limit: int) -> list[Changed]:
    """Schedule tasks whose next try or look is due."""
    return await db.found("wake", who, limit)
