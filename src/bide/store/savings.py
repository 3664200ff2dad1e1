"""How long tasks have waited without a worker; the statements are in sql/savings.sql."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from asyncpg import Record
from msgspec import Struct

from bide.store.database import Database

BATCH = 20_000


class Waited(Struct, frozen=True):
    """How many waits a DAG's tasks have been in, and for how long together."""

    dag_id: str
    waits: int
    waited: timedelta


class WaitedBatch(Struct, frozen=True):
    """What one batch has found; `last_at` and `last_id` are where the next one begins, None where there is none."""

    found: list[Waited]
    last_at: datetime | None
    last_id: int | None


async def waits_ended(
    db: Database, since: datetime, until: datetime, after_at: datetime, after_id: int, limit: int = BATCH
) -> WaitedBatch:
    """Add up waits that have ended after a moment, as far as they lie in a period."""
    return _batch(await db.rows("waits_ended", since, until, after_at, after_id, limit))


async def waits_going_on(
    db: Database, since: datetime, until: datetime, after_id: int, limit: int = BATCH
) -> WaitedBatch:
    """Add up waits that go on, as far as they lie in a period."""
    return _batch(await db.rows("waits_going_on", since, until, after_id, limit))


def _batch(rows: Sequence[Record]) -> WaitedBatch:
    found = [Waited(row["dag_id"], row["waits"], row["waited"]) for row in rows if row["dag_id"] is not None]
    return WaitedBatch(found, rows[0]["last_at"], rows[0]["last_id"]) if rows else WaitedBatch(found, None, None)
