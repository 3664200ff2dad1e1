"""What takes a task out of whatever it is in; the statements are in sql/people.sql."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from bide.model.states import TaskState
from bide.store.database import Database
from bide.store.rows import Changed, columns
from bide.store.runs import Unstarted


async def clear(db: Database, who: str, kill_patience: timedelta, ids: Sequence[int], why: str = "") -> list[Changed]:
    """They shall run afresh, with all their retries."""
    return await db.found("clear", who, kill_patience, ids, why or None)


async def mark(
    db: Database, who: str, kill_patience: timedelta, ids: Sequence[int], to_state: TaskState, why: str = ""
) -> list[Changed]:
    """They shall count as done."""
    return await db.found("mark", who, kill_patience, ids, to_state, why or None)


async def stop(
    db: Database,
    who: str,
    kill_patience: timedelta,
    tasks: Sequence[Unstarted],
    reason: Literal["run_timed_out", "run_failed"],
) -> list[Changed]:
    """Their run is over before they are."""
    return await db.verb("stop", who, tasks, kill_patience, *columns(Unstarted, tasks), reason)


async def remove(db: Database, who: str, kill_patience: timedelta, ids: Sequence[int]) -> list[Changed]:
    """They are no longer in the DAG."""
    return await db.found("remove", who, kill_patience, ids)
