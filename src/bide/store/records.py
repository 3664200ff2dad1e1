"""What legs leave behind beside their outcomes; the statements are in sql/records.sql."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from bide.store.database import Database
from bide.store.rows import columns


class NewChunk(Struct, frozen=True):
    """A piece of a log."""

    task_instance_id: int
    try_number: int
    leg: int
    text: str


class Chunk(Struct, frozen=True):
    """A piece of a log as it was stored."""

    number: int
    leg: int
    at: datetime
    text: str


class NewRecord(Struct, frozen=True, kw_only=True):
    """How the process of a leg ended and what it used; `exit` is None where the code came to its end."""

    task_instance_id: int
    leg: int
    try_number: int
    pid: int | None
    started_at: datetime
    exit: str | None
    peak_memory_kb: int | None
    cpu_sec: float | None


class LegRecord(Struct, frozen=True):
    """How a leg ended, as its worker has told."""

    leg: int
    try_number: int
    worker_id: int
    pid: int | None
    started_at: datetime
    ended_at: datetime
    exit: str | None
    peak_memory_kb: int | None
    cpu_sec: float | None


async def append_log(db: Database, chunks: Sequence[NewChunk]) -> None:
    """Store pieces of logs, in their order. Lost with its answer a piece is stored twice rather than not at all."""
    if chunks:
        await db.rows("append_log", *columns(NewChunk, chunks))


async def read_log(
    db: Database, task_instance_id: int, try_number: int, after: int = 0, limit: int = 1000
) -> list[Chunk]:
    """Read the log of a try, after what was read before."""
    return [Chunk(**row) for row in await db.rows("read_log", task_instance_id, try_number, after, limit)]


async def log_sizes(db: Database, tries: Mapping[int, int]) -> dict[int, int]:
    """Measure the logs of some tries, given by task instance, in bytes."""
    if not tries:
        return {}
    return {row["id"]: row["size"] for row in await db.rows("log_sizes", list(tries), list(tries.values()))}


async def record_legs(db: Database, worker_id: int, records: Sequence[NewRecord]) -> None:
    """Store how legs ended."""
    if records:
        await db.rows("record_legs", worker_id, *columns(NewRecord, records))


async def leg_records(db: Database, task_instance_id: int) -> list[LegRecord]:
    """Read how the legs of a task instance ended."""
    return [LegRecord(**row) for row in await db.rows("leg_records", task_instance_id)]
