"""What a person says about waits; the statements are in sql/by_hand.sql."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bide.model.states import TaskState
from bide.store.database import Database
from bide.store.rows import Changed, columns


class SeenWait(Struct, frozen=True):
    """A task and the wait in which somebody saw it. As a fence: it still waits for that."""

    id: int
    trigger_id: int


class ExtendedWait(Struct, frozen=True):
    """A task, the wait in which somebody saw it, and when that shall end by itself."""

    id: int
    trigger_id: int
    until: datetime


async def fire_by_hand(
    db: Database, who: str, waits: Sequence[SeenWait], event: str | None, why: str = ""
) -> list[Changed]:
    """They shall go on with this encoded event; without one, timers do what they do at their dates."""
    return await db.verb("fire_by_hand", who, waits, *columns(SeenWait, waits), why or None, event)


async def fail_by_hand(
    db: Database, who: str, kill_patience: timedelta, waits: Sequence[SeenWait], error: str, why: str = ""
) -> list[Changed]:
    """They have failed; `error` is made by `as_error`."""
    return await db.verb("fail_by_hand", who, waits, kill_patience, *columns(SeenWait, waits), why or None, error)


async def cancel(
    db: Database, who: str, kill_patience: timedelta, waits: Sequence[SeenWait], to_state: TaskState, why: str = ""
) -> list[Changed]:
    """They shall wait no longer, and count as done."""
    return await db.verb("cancel", who, waits, kill_patience, *columns(SeenWait, waits), why or None, to_state)


async def extend(db: Database, who: str, waits: Sequence[ExtendedWait], why: str = "") -> list[Changed]:
    """They shall end by themselves at a later date; answered are those that do."""
    return await db.verb("extend", who, waits, *columns(ExtendedWait, waits), why or None)
