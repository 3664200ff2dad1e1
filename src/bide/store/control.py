"""What people look at and set; the statements are in sql/control.sql."""

from collections.abc import Sequence
from datetime import datetime

from asyncpg import Record
from msgspec import Struct

from bide.model.states import RunState, TaskState
from bide.store.database import Database


class CurrentVersion(Struct, frozen=True):
    """The latest version of a DAG, its plan as text, and the database's clock."""

    dag_id: str
    id: int
    number: int
    plan: str
    is_paused: bool
    is_gone: bool
    now: datetime


class NamedRun(Struct, frozen=True):
    """A run, as people know it."""

    id: int
    run_id: str
    state: RunState
    logical_date: datetime | None


class Instance(Struct, frozen=True):
    """A task instance, as people know it."""

    id: int
    run_id: str
    task_id: str
    map_index: int
    state: TaskState


class Pool(Struct, frozen=True):
    """A pool and how many of its slots are wanted or taken."""

    name: str
    slots: int
    include_deferred: bool
    description: str
    queued: int
    running: int
    deferred: int
    scheduled: int


async def dag_ids(db: Database) -> list[str]:
    """List the DAGs that are in a file."""
    return [row["dag_id"] for row in await db.rows("dag_ids")]


async def current_version(db: Database, dag_id: str) -> CurrentVersion | None:
    """Find the latest version of a DAG."""
    rows = await db.rows("current_version", dag_id)
    return CurrentVersion(**rows[0]) if rows else None


async def set_paused(db: Database, dag_ids: Sequence[str], is_paused: bool) -> list[str]:
    """Pause DAGs or let them go on; returns those for which that is new."""
    return [row["dag_id"] for row in await db.rows("set_paused", dag_ids, is_paused)]


async def runs_between(db: Database, dag_id: str, first: datetime | None, last: datetime | None) -> list[NamedRun]:
    """List the runs of a DAG in a range of logical dates; None means no bound."""
    return [_run(row) for row in await db.rows("runs_between", dag_id, first, last)]


async def runs_named(db: Database, dag_id: str, run_ids: Sequence[str]) -> list[NamedRun]:
    """Find runs of a DAG by their names."""
    return [_run(row) for row in await db.rows("runs_named", dag_id, run_ids)]


async def instances_of(
    db: Database, run_ids: Sequence[int], task_ids: Sequence[str], states: Sequence[TaskState] | None
) -> list[Instance]:
    """List the instances of tasks in runs, perhaps only those in some states."""
    rows = await db.rows("instances_of", run_ids, task_ids, states)
    return [
        Instance(row["id"], row["run_id"], row["task_id"], row["map_index"], TaskState(row["state"])) for row in rows
    ]


async def pools(db: Database) -> list[Pool]:
    """List all pools."""
    return [Pool(**row) for row in await db.rows("pools")]


async def set_pool(db: Database, name: str, slots: int, include_deferred: bool, description: str) -> None:
    """Make a pool, or change it."""
    await db.rows("set_pool", name, slots, include_deferred, description)


async def delete_pool(db: Database, name: str) -> bool:
    """Remove a pool; false if there is none, or something that is not over needs it."""
    return bool(await db.rows("delete_pool", name))


async def variables(db: Database) -> dict[str, str]:
    """List all variables: key and description."""
    return {row["key"]: row["description"] for row in await db.rows("variables")}


async def connections(db: Database) -> list[tuple[str, str, str]]:
    """List all connections: id, type and description."""
    return [(row["conn_id"], row["conn_type"], row["description"]) for row in await db.rows("connections")]


async def write_connection(db: Database, conn_id: str, conn_type: str, description: str, sealed: str) -> None:
    """Make a connection, or change it."""
    await db.rows("write_connection", conn_id, conn_type, description, sealed)


async def delete_connection(db: Database, conn_id: str) -> bool:
    """Remove a connection; false if there was none."""
    return bool(await db.rows("delete_connection", conn_id))


def _run(row: Record) -> NamedRun:
    return NamedRun(row["id"], row["run_id"], RunState(row["state"]), row["logical_date"])
