"""What the code of a task asks of the engine while it runs; the statements are in sql/children.sql."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from bide.model.messages import RunFacts
from bide.model.states import TaskState
from bide.store.database import Database


class Version(Struct, frozen=True):
    """Where the code of a DAG comes from, and its plan as text."""

    id: int
    dag_id: str
    plan: str
    source: str
    fileloc: str
    fingerprint: str

    @property
    def state_of_file(self) -> tuple[str, str]:
        """What versions have in common that may share a process: several DAGs may stand in one file."""
        return self.fileloc, self.fingerprint or self.source


async def version_of(db: Database, dag_version_id: int) -> Version | None:
    """Find where the code of a version comes from."""
    rows = await db.rows("version_of", dag_version_id)
    return Version(**rows[0]) if rows else None


async def read_xcom(db: Database, dag_id: str, run_id: str, task_id: str, map_index: int, key: str) -> str | None:
    """Read what a task instance has left."""
    return _only(await db.rows("read_xcom", dag_id, run_id, task_id, map_index, key))


async def read_latest_xcom(
    db: Database, dag_id: str, until: datetime, task_id: str, map_index: int, key: str
) -> str | None:
    """Read what a task instance has left in the latest run that has it, up to a logical date."""
    return _only(await db.rows("read_latest_xcom", dag_id, until, task_id, map_index, key))


async def read_xcoms(db: Database, dag_id: str, run_id: str, task_id: str, key: str) -> list[str]:
    """Read what all instances of a task have left, by map index."""
    return [row["value"] for row in await db.rows("read_xcoms", dag_id, run_id, task_id, key)]


async def push_xcom(db: Database, id: int, leg: int, key: str, value: str) -> bool:
    """Leave a value of a running leg; false if the leg is no longer the caller's."""
    return bool(await db.rows("push_xcom", id, leg, key, value))


async def read_variable(db: Database, key: str) -> str | None:
    """Read a variable's sealed value."""
    return _only(await db.rows("read_variable", key))


async def write_variable(db: Database, key: str, sealed: str, description: str) -> None:
    """Set a variable."""
    await db.rows("write_variable", key, sealed, description)


async def delete_variable(db: Database, key: str) -> bool:
    """Remove a variable; false if there was none."""
    return bool(await db.rows("delete_variable", key))


async def read_connection(db: Database, conn_id: str) -> str | None:
    """Read a connection's sealed text."""
    return _only(await db.rows("read_connection", conn_id))


async def run_state(db: Database, dag_id: str, run_id: str | None, logical_date: datetime | None) -> str | None:
    """Find a run by its id or its logical date, and read its state."""
    return _only(await db.rows("run_state", dag_id, run_id, logical_date))


async def previous_run(db: Database, dag_id: str, before: datetime, state: str | None) -> RunFacts | None:
    """Find the last run before a logical date."""
    rows = await db.rows("previous_run", dag_id, before, state)
    return RunFacts(**rows[0]) if rows else None


async def count_tasks(
    db: Database,
    dag_id: str,
    states: Sequence[TaskState],
    task_ids: Sequence[str] | None,
    run_ids: Sequence[str] | None,
    logical_dates: Sequence[datetime] | None,
) -> int:
    """Count task instances; None means all."""
    number: int = (await db.rows("count_tasks", dag_id, states, task_ids, run_ids, logical_dates))[0]["number"]
    return number


async def tasks_of_run(db: Database, dag_id: str, run_id: str) -> list[int]:
    """List the task instances of a run."""
    return [row["id"] for row in await db.rows("tasks_of_run", dag_id, run_id)]


def _only(rows: Sequence[Sequence[str]]) -> str | None:
    return rows[0][0] if rows else None
