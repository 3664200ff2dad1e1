"""Runs, and what a scheduler says about tasks that have not started; the statements are in sql/runs.sql."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from bide.model.instances import NewTask as NewTask
from bide.model.states import RunState
from bide.store.database import Database
from bide.store.rows import Changed, columns


class NewRun(Struct, frozen=True):
    """A run that shall come to be."""

    run_id: str
    logical_date: datetime | None = None
    interval_start: datetime | None = None
    interval_end: datetime | None = None
    conf: str | None = None


class Launched(Struct, frozen=True):
    """A run that came to be."""

    id: int
    run_id: str


class Unstarted(Struct, frozen=True):
    """A task instance that something is decided about, and the epoch of its run in the picture it was decided on."""

    id: int
    epoch: int


class Picture(Struct, frozen=True):
    """A run and its epoch."""

    id: int
    epoch: int


class Concluded(Struct, frozen=True):
    """A run, its epoch, and how it ended."""

    id: int
    epoch: int
    to_state: RunState


class Expansion(Struct, frozen=True):
    """An instance of a mapped task that has not begun, the epoch of its run, and how many instances there must be."""

    id: int
    epoch: int
    number: int


class ChangedRun(Struct, frozen=True):
    """A run after a verb."""

    id: int
    state: RunState


async def launch(
    db: Database,
    who: str,
    dag_id: str,
    version_id: int | None,
    run_type: Literal["manual", "scheduled", "backfill", "asset"],
    dagrun_timeout: timedelta | None,
    runs: Sequence[NewRun],
    tasks: Sequence[NewTask],
) -> list[Launched]:
    """Make runs with all their task instances; a run that is there already is left alone and does not come back."""
    rows = await db.rows(
        "launch", who, *columns(NewTask, tasks), dag_id, version_id, run_type, dagrun_timeout, *columns(NewRun, runs)
    )
    return [Launched(**row) for row in rows]


async def begin(db: Database, who: str, turn: int, run_ids: Sequence[int]) -> list[ChangedRun]:
    """Start queued runs that there is room for."""
    return _runs(await db.rows("begin", who, turn, run_ids))


async def conclude(db: Database, who: str, runs: Sequence[Concluded]) -> list[ChangedRun]:
    """End runs whose tasks are all terminal."""
    return _runs(await db.rows("conclude", who, *columns(Concluded, runs)))


async def expire(db: Database, who: str, runs: Sequence[Picture]) -> list[ChangedRun]:
    """Fail runs that are out of time."""
    return _runs(await db.rows("expire", who, *columns(Picture, runs)))


async def mark_run(db: Database, who: str, runs: Sequence[Picture], to_state: RunState, why: str) -> list[ChangedRun]:
    """End runs because a person says so."""
    return _runs(await db.rows("mark_run", who, *columns(Picture, runs), to_state, why))


async def ready(db: Database, who: str, tasks: Sequence[Unstarted]) -> list[Changed]:
    """Their trigger rules hold."""
    return await db.verb("ready", who, tasks, *columns(Unstarted, tasks))


async def block(db: Database, who: str, tasks: Sequence[Unstarted]) -> list[Changed]:
    """Their trigger rules can no longer hold."""
    return await db.verb("block", who, tasks, *columns(Unstarted, tasks))


async def skip_unstarted(db: Database, who: str, tasks: Sequence[Unstarted]) -> list[Changed]:
    """A branch went elsewhere, or their trigger rules say so."""
    return await db.verb("skip_unstarted", who, tasks, *columns(Unstarted, tasks))


async def pass_empty(db: Database, who: str, tasks: Sequence[Unstarted]) -> list[Changed]:
    """Their trigger rules hold and they have nothing to do."""
    return await db.verb("pass_empty", who, tasks, *columns(Unstarted, tasks))


async def adopt(
    db: Database,
    who: str,
    run_ids: Sequence[int],
    version_id: int,
    dagrun_timeout: timedelta | None,
    tasks: Sequence[NewTask],
) -> list[ChangedRun]:
    """Go on with a newer version of their DAG."""
    return _runs(await db.rows("adopt", who, *columns(NewTask, tasks), run_ids, version_id, dagrun_timeout))


async def expand(db: Database, who: str, tasks: Sequence[Expansion]) -> list[int]:
    """Give mapped tasks as many instances as they need; the new ones come back."""
    if not tasks:
        return []
    return [row["id"] for row in await db.rows("expand", who, *columns(Expansion, tasks))]


def _runs(rows: Sequence[object]) -> list[ChangedRun]:
    return [ChangedRun(row["id"], RunState(row["state"])) for row in rows]  # type: ignore[index]
