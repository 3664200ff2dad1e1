"""DAG files and the plans that were found in them; the statements are in sql/plans.sql."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from bide.model.timetable import Interval, NextRun
from bide.store.database import Database
from bide.store.rows import columns


class FoundFile(Struct, frozen=True, kw_only=True):
    """A file that was looked at; `error` says why it, or a part of it, cannot be used.

    `known_hash` is what was stored of it before, as far as is known. As a fence: nobody has stored anything else since.
    """

    fileloc: str
    known_hash: str | None = None
    content_hash: str
    size: int
    mtime: datetime
    seconds: float
    error: str | None = None
    traceback: str = ""


class FoundDag(Struct, frozen=True, kw_only=True):
    """A DAG of such a file. `tags` is a JSON list, `callbacks` are separated by commas.

    `content_hash` differs when anything about the DAG does.
    """

    fileloc: str
    dag_id: str
    content_hash: str
    plan: str
    source: str
    fingerprint: str
    is_paused: bool
    max_active_tasks: int
    max_active_runs: int
    description: str | None
    owners: str
    tags: str
    timetable_summary: str
    timetable_description: str
    has_schedule: bool
    timetable: str
    next_logical_date: datetime | None
    next_interval_start: datetime | None
    next_interval_end: datetime | None
    next_run_at: datetime | None
    callbacks: str = ""


class Fate(StrEnum):
    """What has become of a DAG."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    REFUSED = "refused"
    GONE = "gone"
    STALE = "stale"


class Stored(Struct, frozen=True):
    """A DAG after its file was looked at, by its id; a stale one is a file, by its path.

    Where a DAG was refused, `holder` is the file that has it already.
    """

    outcome: Fate
    name: str
    holder: str | None = None


class Schedule(Struct, frozen=True):
    """What the next date of a DAG is told from: the last interval that was launched, and the database's clock."""

    last: Interval | None
    now: datetime


async def store_files(db: Database, files: Sequence[FoundFile], dags: Sequence[FoundDag]) -> list[Stored]:
    """Store what was found; each DAG at most once. One that does not come back was made by somebody else just now."""
    rows = await db.rows("store_files", *columns(FoundFile, files), *columns(FoundDag, dags))
    return [Stored(Fate(row["outcome"]), row["name"], row["holder"]) for row in rows]


async def forget_files(db: Database, filelocs: Sequence[str]) -> list[str]:
    """Forget files that are no longer there; returns the DAGs that are gone with them."""
    return [row["dag_id"] for row in await db.rows("forget_files", filelocs)]


async def files_looked_at(db: Database) -> dict[str, float]:
    """List the files that were looked at, each with the seconds that took."""
    return {row["fileloc"]: row["seconds"] for row in await db.rows("files_looked_at")}


async def file_hashes(db: Database, filelocs: Sequence[str]) -> dict[str, str]:
    """Read what is stored of these files, told in short."""
    return {row["fileloc"]: row["content_hash"] for row in await db.rows("file_hashes", filelocs)}


async def schedules(db: Database, dag_ids: Sequence[str]) -> dict[str, Schedule]:
    """Read what the next dates of these DAGs are told from."""
    found = {}
    for row in await db.rows("schedules", dag_ids):
        start, end = row["last_start"], row["last_end"]
        found[row["dag_id"]] = Schedule(Interval(start, end) if start and end else None, row["now"])
    return found


async def stored_plans(db: Database, version_ids: Sequence[int]) -> dict[int, str]:
    """Read the plans of versions, as text."""
    return {row["id"]: row["plan"] for row in await db.rows("stored_plans", version_ids)}


async def advance_schedule(db: Database, dag_id: str, was_due_at: datetime, following: NextRun | None) -> bool:
    """Note which run comes next by schedule, after the one that was due."""
    dates = (
        (following.logical_date, following.interval.start, following.interval.end, following.due_at)
        if following
        else (None, None, None, None)
    )
    return bool(await db.rows("advance_schedule", dag_id, was_due_at, *dates))
