"""What triggers use while they wait; the statements are in sql/usage.sql."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from bide.store.database import Database
from bide.store.rows import columns


class Use(Struct, frozen=True):
    """What a trigger has used in the process that runs it: steps on its event loop, and the time that they took."""

    trigger_id: int
    runner_pid: int
    steps: int
    busy_sec: float
    longest_sec: float
    strikes: int
    evidence: str


class BusyTrigger(Struct, frozen=True):
    """One of the triggers that use most, and for whom."""

    trigger_id: int
    classpath: str
    dag_id: str | None
    run_id: str | None
    task_id: str | None
    map_index: int | None
    triggerer_id: int
    runner_pid: int
    steps: int
    busy_sec: float
    longest_sec: float
    strikes: int
    evidence: str
    at: datetime


async def report_use(db: Database, triggerer_id: int, uses: Sequence[Use]) -> None:
    """Tell what the busiest triggers of a triggerer have used; this takes the place of what it has told before."""
    await db.rows("report_use", triggerer_id, *columns(Use, uses))


async def busiest_triggers(db: Database, limit: int) -> list[BusyTrigger]:
    """List the triggers that use most, those that have done harm first."""
    return [BusyTrigger(**row) for row in await db.rows("busiest_triggers", limit)]
