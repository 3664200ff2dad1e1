"""Versions of DAGs; the statements are in sql/plans.sql."""

from collections.abc import Sequence
from datetime import datetime

from bide.store.database import Database


async def stored_plans(db: Database, version_ids: Sequence[int]) -> dict[int, str]:
    """Read the plans of versions, as text."""
    return {row["id"]: row["plan"] for row in await db.rows("stored_plans", version_ids)}


async def advance_schedule(
    db: Database,
    dag_id: str,
    launched_for: datetime,
    interval_start: datetime | None,
    interval_end: datetime | None,
    next_run_at: datetime | None,
) -> bool:
    """Note which run was launched last by schedule, and when the next one is due."""
    rows = await db.rows("advance_schedule", dag_id, launched_for, interval_start, interval_end, next_run_at)
    return bool(rows)
