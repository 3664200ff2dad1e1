"""What it takes to say why a task is where it is; the statements are in sql/why.sql."""

from datetime import datetime, timedelta

from msgspec import Struct

from bide.model.states import RunState, TaskState
from bide.store.database import Database
from bide.store.jobs import JobType
from bide.store.rows import filled

MOST = 1000


class TaskSituation(Struct, frozen=True, kw_only=True):
    """A task instance, with its run, its worker, its wait and who holds that, and an on_kill that stands in its way."""

    id: int
    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    state: TaskState
    try_number: int
    max_tries: int
    pool: str
    pool_slots: int
    queue: str
    next_method: str | None
    error: str | None
    wake_at: datetime | None
    queued_at: datetime | None
    start_date: datetime | None
    end_date: datetime | None
    trigger_timeout: datetime | None
    try_deadline: datetime | None
    sensor_deadline: datetime | None
    max_active_tis_per_dag: int | None
    max_active_tis_per_dagrun: int | None
    dag_run_id: int
    run_state: RunState
    dag_version_id: int | None
    logical_date: datetime | None
    is_paused: bool
    max_active_runs: int
    max_active_tasks: int
    worker_id: int | None
    worker_host: str | None
    worker_is_alive: bool | None
    worker_silence: timedelta | None
    wait_id: int | None
    classpath: str | None
    waits_since: datetime | None
    wait_queue: str | None
    due_at: datetime | None
    parked_until: datetime | None
    parked_why: str | None
    triggerer_id: int | None
    triggerer_host: str | None
    triggerer_is_alive: bool | None
    triggerer_silence: timedelta | None
    kill_classpath: str | None
    kill_reason: str | None
    kill_deadline: datetime | None
    kill_taken_by: int | None
    now: datetime


class Alive(Struct, frozen=True):
    """A living process and how much it has in hand."""

    id: int
    hostname: str
    queues: list[str]
    capacity: int | None
    load: int

    @property
    def is_full(self) -> bool:
        """Whether it takes nothing more for now."""
        return self.capacity is not None and self.load >= self.capacity


class RunsBefore(Struct, frozen=True):
    """How many runs of a DAG are running, and the names of some."""

    number: int
    some: list[str] | None


class PoolSituation(Struct, frozen=True):
    """Who takes most of a pool, and how many tasks come before one; None where there are very many."""

    holders: list[str]
    before: int | None


async def task_situation(db: Database, dag_id: str, run_id: str, task_id: str, map_index: int) -> TaskSituation | None:
    """Read how a task instance stands."""
    rows = await db.rows("task_situation", dag_id, run_id, task_id, map_index)
    return next(iter(filled(TaskSituation, rows)), None)


async def processes_alive(db: Database, kind: JobType) -> list[Alive]:
    """List the living processes of a kind."""
    return filled(Alive, await db.rows("processes_alive", kind, MOST))


async def runs_before(db: Database, dag_id: str, named: int) -> RunsBefore:
    """Count the running runs of a DAG."""
    return filled(RunsBefore, await db.rows("runs_before", dag_id, named))[0]


async def pool_situation(db: Database, pool: str, task_instance_id: int, named: int) -> PoolSituation:
    """Tell who is in a pool, and who comes before a task."""
    return filled(PoolSituation, await db.rows("pool_situation", pool, task_instance_id, named))[0]
