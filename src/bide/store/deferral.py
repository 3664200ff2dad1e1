"""How a task comes to wait and how the wait ends; the statements are in sql/deferral.sql."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec
from msgspec import Struct

from bide.model.wait_over import TRIGGER_FAILED
from bide.store.database import Database
from bide.store.rows import Changed, XCom, columns, storable


class NewWait(Struct, frozen=True, kw_only=True):
    """A leg that turns into a wait. `kwargs` are sealed with `trigger_id`; the other values are encoded text.

    With `dag_version_id` its class stands in the folder of DAG files, and runs in the code of that version.
    """

    id: int
    leg: int
    trigger_id: int
    classpath: str
    kwargs: str
    next_method: str
    next_kwargs: str = "{}"
    timeout: timedelta | None = None
    due_at: datetime | None = None
    due_in: timedelta | None = None
    event: str | None = None
    ends: bool = False
    shared_key: str | None = None
    on_kill: bool = False
    queue: str | None = None
    dag_version_id: int | None = None


class Fired(Struct, frozen=True):
    """A wait whose trigger yielded an event."""

    trigger_id: int
    claim: int
    event: str


class Ended(Struct, frozen=True):
    """A wait whose trigger yielded the end of its task. A failure has an error and goes on to `__fail__`."""

    trigger_id: int
    claim: int
    to_state: Literal["success", "skipped", "scheduled"]
    error: str | None = None
    why: str | None = None


class Crashed(Struct, frozen=True):
    """A wait whose trigger raised or ended without an event."""

    trigger_id: int
    claim: int
    error: str
    why: str


def as_error(error: str, traceback: str = "", reason: str = TRIGGER_FAILED) -> str:
    """Word a failure as the arguments of the `__fail__` leg that it leads to."""
    said = {"error": storable(error), "traceback": storable(traceback), "reason": reason}
    return msgspec.json.encode(said).decode()


async def reserve_trigger_ids(db: Database, number: int) -> list[int]:
    """Take numbers for waits that are about to begin."""
    return [row["id"] for row in await db.rows("reserve_trigger_ids", number)]


async def defer(db: Database, who: str, waits: Sequence[NewWait]) -> list[Changed]:
    """Running legs have nothing to do but wait."""
    return await db.verb("defer", who, waits, *columns(NewWait, waits))


async def defer_at_start(db: Database, who: str, turn: int, waits: Sequence[NewWait]) -> list[Changed]:
    """Scheduled tasks begin in their triggers."""
    return await db.verb("defer_at_start", who, waits, turn, *columns(NewWait, waits))


async def fire(db: Database, who: str, waits: Sequence[Fired]) -> list[Changed]:
    """Their triggers yielded events."""
    return await db.verb("fire", who, waits, *columns(Fired, waits))


async def end(db: Database, who: str, waits: Sequence[Ended], xcoms: Sequence[XCom] = ()) -> list[Changed]:
    """Their triggers yielded how their tasks end."""
    return await db.verb("end", who, waits, *columns(Ended, waits), *columns(XCom, xcoms))


async def crash(db: Database, who: str, waits: Sequence[Crashed]) -> list[Changed]:
    """Their triggers raised, or ended without an event."""
    return await db.verb("crash", who, waits, *columns(Crashed, waits))


async def fire_due(db: Database, who: str, limit: int) -> list[Changed]:
    """Fire timers whose date has come."""
    return await db.found("fire_due", who, limit)


async def lapse(db: Database, who: str, kill_patience: timedelta, limit: int) -> list[Changed]:
    """End waits that took too long."""
    return await db.found("lapse", who, kill_patience, limit)
