"""Versions of DAGs; the statements are in sql/plans.sql."""

from collections.abc import Sequence

from bide.store.database import Database


async def stored_plans(db: Database, version_ids: Sequence[int]) -> dict[int, str]:
    """Read the plans of versions, as text."""
    return {row["id"]: row["plan"] for row in await db.rows("stored_plans", version_ids)}
