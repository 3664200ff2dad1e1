"""What people read about DAGs, runs and tasks; the statements are in sql/reports.sql."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bide.model.states import RunState, TaskState
from bide.store.database import Database
from bide.store.rows import filled


class DagLine(Struct, frozen=True):
    """A DAG in a list, with its latest run."""

    dag_id: str
    is_paused: bool
    gone_at: datetime | None
    fileloc: str | None
    description: str | None
    owners: str
    tags: list[str]
    schedule: str
    next_run_at: datetime | None
    is_broken: bool
    queued_runs: int
    running_runs: int
    last_run_id: str | None
    last_state: RunState | None


class DagFacts(Struct, frozen=True):
    """A DAG alone. `plan` is the stored text of its latest version."""

    dag_id: str
    is_paused: bool
    gone_at: datetime | None
    fileloc: str | None
    description: str | None
    owners: str
    tags: list[str]
    schedule: str
    timetable_description: str
    max_active_runs: int
    max_active_tasks: int
    next_logical_date: datetime | None
    next_run_at: datetime | None
    version: int
    version_at: datetime
    plan: str
    source: str | None
    is_broken: bool


class ImportFailure(Struct, frozen=True):
    """A file that cannot be used as it is, and since when."""

    fileloc: str
    error: str
    traceback: str
    at: datetime


class RunLine(Struct, frozen=True):
    """A run in a list, and how far it is."""

    id: int
    dag_id: str
    run_id: str
    run_type: str
    state: RunState
    logical_date: datetime | None
    queued_at: datetime
    start_date: datetime | None
    end_date: datetime | None
    duration: timedelta | None
    tasks: int
    ended: int
    failed: int


class RunFacts(Struct, frozen=True):
    """A run alone. `conf` is the stored text of its configuration."""

    id: int
    dag_id: str
    run_id: str
    run_type: str
    state: RunState
    epoch: int
    logical_date: datetime | None
    data_interval_start: datetime | None
    data_interval_end: datetime | None
    queued_at: datetime
    start_date: datetime | None
    end_date: datetime | None
    timeout_at: datetime | None
    duration: timedelta | None
    tasks: int
    ended: int
    failed: int
    conf: str | None
    note: str | None
    dag_version_id: int | None
    version: int | None
    is_paused: bool
    now: datetime


class Progress(Struct, frozen=True):
    """So many instances of a task in a state."""

    task_id: str
    state: TaskState
    number: int
    is_mapped: bool
    tries: int
    started_at: datetime | None
    ended_at: datetime | None
    now: datetime


class TaskFacts(Struct, frozen=True):
    """A task instance alone."""

    id: int
    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    state: TaskState
    operator: str
    try_number: int
    max_tries: int
    leg: int
    pool: str
    pool_slots: int
    priority_weight: int
    queue: str
    queued_at: datetime | None
    start_date: datetime | None
    end_date: datetime | None
    wake_at: datetime | None
    try_deadline: datetime | None
    sensor_deadline: datetime | None
    duration: timedelta | None
    worker_id: int | None
    worker_host: str | None
    waits_for: str | None
    waits_since: datetime | None
    trigger_timeout: datetime | None
    due_at: datetime | None
    triggerer_id: int | None
    parked_why: str | None
    now: datetime


class InstanceLine(Struct, frozen=True):
    """An instance of a mapped task in a list."""

    map_index: int
    state: TaskState
    try_number: int
    start_date: datetime | None
    end_date: datetime | None
    duration: timedelta | None


class LegLine(Struct, frozen=True):
    """How a leg ended, where it ran, and what it used; `exit` is None where the code came to its end."""

    leg: int
    try_number: int
    worker_id: int
    worker_host: str | None
    pid: int | None
    started_at: datetime
    ended_at: datetime
    duration: timedelta
    exit: str | None
    peak_memory_kb: int | None
    cpu_sec: float | None


class XComLine(Struct, frozen=True):
    """A value that a task has left, as text; longer than that where `size`, in bytes, says so."""

    key: str
    value: str
    size: int
    at: datetime


class TaskByEnd(Struct, frozen=True):
    """A task instance, and whether it decides how its run ends."""

    id: int
    state: TaskState
    is_leaf: bool


class HistoryLine(Struct, frozen=True):
    """One thing that has happened to a task instance."""

    id: int
    at: datetime
    verb: str
    from_state: str | None
    to_state: str | None
    leg: int | None
    try_number: int | None
    who: str
    why: str | None


async def list_dags(
    db: Database, dag_ids: Sequence[str] | None, tag: str | None, gone: bool, after: str, limit: int
) -> list[DagLine]:
    """List DAGs by their names; None means all of them."""
    return filled(DagLine, await db.rows("list_dags", dag_ids, tag, gone, after, limit))


async def describe_dag(db: Database, dag_id: str) -> DagFacts | None:
    """Tell everything about a DAG."""
    return next(iter(filled(DagFacts, await db.rows("describe_dag", dag_id))), None)


async def list_import_errors(db: Database, after: str, limit: int) -> list[ImportFailure]:
    """List files that cannot be used, by their paths."""
    return filled(ImportFailure, await db.rows("list_import_errors", after, limit))


async def list_runs(
    db: Database, dag_id: str | None, states: Sequence[RunState] | None, before: int | None, limit: int
) -> list[RunLine]:
    """List runs, the newest first; None means any."""
    return filled(RunLine, await db.rows("list_runs", dag_id, states, before, limit))


async def describe_run(db: Database, dag_id: str, run_id: str) -> RunFacts | None:
    """Tell everything about a run."""
    return next(iter(filled(RunFacts, await db.rows("describe_run", dag_id, run_id))), None)


async def run_progress(db: Database, dag_run_id: int) -> list[Progress]:
    """Tell how the tasks of a run stand."""
    return filled(Progress, await db.rows("run_progress", dag_run_id))


async def describe_task(db: Database, dag_id: str, run_id: str, task_id: str, map_index: int) -> TaskFacts | None:
    """Tell everything about a task instance."""
    return next(iter(filled(TaskFacts, await db.rows("describe_task", dag_id, run_id, task_id, map_index))), None)


async def list_instances(
    db: Database, dag_id: str, run_id: str, task_id: str, after: int, limit: int
) -> list[InstanceLine]:
    """List the instances of a task by map index."""
    return filled(InstanceLine, await db.rows("list_instances", dag_id, run_id, task_id, after, limit))


async def list_legs(db: Database, task_instance_id: int, limit: int) -> list[LegLine]:
    """List the latest legs of a task instance."""
    return filled(LegLine, await db.rows("list_legs", task_instance_id, limit))


async def list_xcoms(db: Database, task: TaskFacts, longest: int, limit: int) -> list[XComLine]:
    """List what a task instance has left; of values at most so many characters."""
    key = (task.dag_id, task.run_id, task.task_id, task.map_index)
    return filled(XComLine, await db.rows("list_xcoms", *key, longest, limit))


async def task_history(db: Database, task_instance_id: int, limit: int) -> list[HistoryLine]:
    """Tell what has happened to a task instance lately."""
    return filled(HistoryLine, await db.rows("task_history", task_instance_id, limit))


async def tries_of(db: Database, task_instance_id: int) -> list[int]:
    """List the tries that have left a log."""
    return [row["try_number"] for row in await db.rows("tries_of", task_instance_id)]


async def tasks_by_end(db: Database, dag_run_id: int) -> list[TaskByEnd]:
    """List the tasks of a run that did not end well, or not yet."""
    return filled(TaskByEnd, await db.rows("tasks_by_end", dag_run_id))
