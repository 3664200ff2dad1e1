"""What people read about waits; the statements are in sql/waits.sql."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from asyncpg import Record
from msgspec import Struct

from bide.store.database import Database
from bide.store.rows import filled

MOST_LOOKED_AT = 50_000
"""Waits that one list looks at, whatever it is asked for: there may be a million."""


class WaitFilter(Struct, frozen=True, kw_only=True):
    """Which waits somebody means; None means any. `classpath` is a regular expression, an empty queue means none."""

    dag_id: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    queue: str | None = None
    classpath: str | None = None
    triggerer_id: int | None = None
    unclaimed: bool = False
    overdue: bool = False
    parked: bool = False
    wait_id: int | None = None


class WaitLine(Struct, frozen=True):
    """A task that waits: for what, since when, until when, and who holds the wait."""

    id: int
    classpath: str
    created_date: datetime
    queue: str | None
    priority: int
    due_at: datetime | None
    triggerer_id: int | None
    claim: int
    parked_until: datetime | None
    parked_why: str | None
    on_kill: bool
    is_shared: bool
    task_instance_id: int
    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    trigger_timeout: datetime | None
    try_deadline: datetime | None
    sensor_deadline: datetime | None
    hostname: str | None
    is_alive: bool | None
    heartbeat_age: timedelta | None
    now: datetime


class WaitPage(Struct, frozen=True):
    """A part of a list of waits, and whether there may be more; `after` leads on where the list is one by number."""

    lines: list[WaitLine]
    is_cut: bool = False
    after: int | None = None


async def list_waits(db: Database, meant: WaitFilter, after: int, limit: int, most: int = MOST_LOOKED_AT) -> WaitPage:
    """List waits, the oldest first."""
    return _page(await db.rows("list_waits", *_given(meant, limit), after, most), limit, most)


async def list_waits_of_runs(
    db: Database, meant: WaitFilter, after: int, limit: int, most: int = MOST_LOOKED_AT
) -> WaitPage:
    """List waits of the unfinished runs of a DAG."""
    return _page(await db.rows("list_waits_of_runs", *_given(meant, limit), after, most), limit, most)


async def list_waits_of_triggerer(
    db: Database, meant: WaitFilter, after: int, limit: int, most: int = MOST_LOOKED_AT
) -> WaitPage:
    """List what a triggerer holds."""
    return _page(await db.rows("list_waits_of_triggerer", *_given(meant, limit), after, most), limit, most)


async def list_overdue_waits(db: Database, meant: WaitFilter, limit: int, most: int = MOST_LOOKED_AT) -> WaitPage:
    """List waits whose time is over, the most overdue first."""
    return _first(await db.rows("list_overdue_waits", *_given(meant, limit), most), limit, most)


async def list_free_waits(db: Database, meant: WaitFilter, limit: int, most: int = MOST_LOOKED_AT) -> WaitPage:
    """List waits that nobody holds, as they would be claimed."""
    return _first(await db.rows("list_free_waits", *_given(meant, limit), most), limit, most)


async def list_parked_waits(db: Database, meant: WaitFilter, limit: int, most: int = MOST_LOOKED_AT) -> WaitPage:
    """List waits that are put aside."""
    return _first(await db.rows("list_parked_waits", *_given(meant, limit), most), limit, most)


def _given(meant: WaitFilter, limit: int) -> list[Any]:
    return [*(getattr(meant, field) for field in WaitFilter.__struct_fields__), limit]


def _page(rows: Sequence[Record], limit: int, most: int) -> WaitPage:
    lines = filled(WaitLine, [row for row in rows if row["id"] is not None])
    if len(lines) == limit:
        # Of a shared wait the rest may still come; of one that fills the whole page it cannot.
        begun = lines[-1].is_shared and lines[0].id < lines[-1].id
        return WaitPage(lines, True, lines[-1].id - 1 if begun else lines[-1].id)
    is_cut = rows[0]["looked"] == most
    return WaitPage(lines, is_cut, rows[0]["last_id"] if is_cut else None)


def _first(rows: Sequence[Record], limit: int, most: int) -> WaitPage:
    """Read the first of a list that is not one by number: there is no way on."""
    lines = filled(WaitLine, [row for row in rows if row["id"] is not None])
    return WaitPage(lines, len(lines) == limit or rows[0]["looked"] == most)
