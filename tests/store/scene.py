"""Rows in any state, for tests: the one place that knows how a task, its run, its wait and its owner look together.

Everything is placed by COPY, so a thousand rows cost as much as one. The clock stands still at `NOW` from the first
scene on; `set_clock` moves it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import asyncpg

from bide.model.states import FINISHED_RUN, TERMINAL, RunState, TaskState
from bide.model.transitions import FAIL_METHOD
from bide.store.jobs import Watch

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
ALWAYS = Watch(LONG_AGO, datetime(2970, 1, 1, tzinfo=UTC), LONG_AGO)
"""Somebody has watched all along, up to now."""
TICK = timedelta(microseconds=1)
"""The smallest step of PostgreSQL's clock."""
PATIENCE = timedelta(seconds=30)
"""How long an on_kill may take in these tests."""
LEG, TRY, CLAIM, EPOCH = 7, 2, 5, 3
"""Numbers of a task in the middle of its life, so that there are earlier and later ones."""

WITH_WORKER = frozenset({TaskState.RUNNING, TaskState.SHUTDOWN})
WITH_DATE = frozenset({TaskState.UP_FOR_RETRY, TaskState.UP_FOR_RESCHEDULE})
NOT_BEGUN = frozenset({TaskState.NONE, TaskState.SCHEDULED, TaskState.RESTARTING, TaskState.QUEUED})

Holder = Literal["nobody", "triggerer", "dead triggerer", "parked", "timer"]


@dataclass(frozen=True)
class Wait:
    """What a deferred task waits for. A `due` timer is due exactly now, another one a tick later."""

    holder: Holder = "triggerer"
    due: bool = True
    ends: bool = False
    shared_key: str | None = None
    on_kill: bool = False
    queue: str | None = None
    priority: int = 1


@dataclass(frozen=True)
class Row:
    """A task instance as it shall stand there. `columns` says everything that is not worth a word of its own."""

    state: TaskState
    next_method: str | None = None
    child: bool = False  # whether a worker still has a child of it; running and shutdown always have
    owner_alive: bool = True
    wait: Wait | None = None
    kill: bool = False  # whether an on_kill of an earlier wait is still to be answered
    begun: bool | None = None  # whether its try is open; told from the state by default
    due: bool = True  # whether its date (of waking, of the timeout) is now, or a tick later
    timeout: bool = False  # whether its wait has a timeout at all
    run: RunState = RunState.RUNNING
    columns: Mapping[str, Any] = field(default_factory=dict)
    run_columns: Mapping[str, Any] = field(default_factory=dict)
    kill_columns: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Placed:
    """A row that stands in the database, with every number that a fence may ask for."""

    row: Row
    id: int
    run: int
    leg: int
    child_leg: int | None
    epoch: int
    trigger_id: int | None
    claim: int


@dataclass(frozen=True)
class Scene:
    """The processes around the rows: of each kind a living one and a dead one."""

    connection: "asyncpg.Connection[asyncpg.Record]"
    worker: int
    dead_worker: int
    triggerer: int
    dead_triggerer: int

    async def place(self, rows: Sequence[Row]) -> list[Placed]:
        """Put rows into the database, each into a run of its own; waits with equal shared keys are one wait."""
        runs = await self._numbers("dag_run", len(rows))
        tasks = await self._numbers("task_instance", len(rows))
        waits = await self._wait_numbers(rows)
        placed = [_placed(row, task, run, wait) for row, task, run, wait in zip(rows, tasks, runs, waits, strict=True)]
        await self._copy("dag_run", [_run(one) for one in placed])
        first = {one.trigger_id: one for one in reversed(placed) if one.row.wait}
        await self._copy("trigger", [self._wait(one) for one in first.values()])
        await self._copy("task_instance", [self._task(one) for one in placed])
        await self._copy("kill", [_kill(one) for one in placed if one.row.kill])
        return placed

    async def put(self, row: Row) -> Placed:
        """Put one row into the database."""
        return (await self.place([row]))[0]

    async def _numbers(self, table: str, number: int) -> list[int]:
        numbers = await self.connection.fetch(
            "select nextval(pg_get_serial_sequence($1, 'id')) as id from generate_series(1, $2)", table, number
        )
        return [row["id"] for row in numbers]

    async def _wait_numbers(self, rows: Sequence[Row]) -> list[int | None]:
        """A number for each task that waits, or has a kill open; one for each shared key."""
        fresh = iter(await self._numbers("trigger", len(rows)))
        shared: dict[str, int] = {}
        numbers: list[int | None] = []
        for row in rows:
            number = next(fresh)
            if row.wait and row.wait.shared_key:
                number = shared.setdefault(row.wait.shared_key, number)
            numbers.append(number if row.wait or row.kill else None)
        return numbers

    def _task(self, one: Placed) -> dict[str, Any]:
        row, state = one.row, one.row.state
        begun = row.begun if row.begun is not None else state not in NOT_BEGUN or row.next_method is not None
        fails = row.next_method == FAIL_METHOD
        return {
            "id": one.id,
            **_identity(one),
            "dag_run_id": one.run,
            "task_id": "task",
            "state": state,
            "leg": one.leg,
            "try_number": TRY,
            "max_tries": TRY + 1,
            "retries": 2,
            "worker_id": None if one.child_leg is None else self.worker if row.owner_alive else self.dead_worker,
            "child_leg": one.child_leg,
            "trigger_id": one.trigger_id,
            "next_method": row.next_method,
            "next_kwargs": '{"error": "boom"}' if fails else '{"a": 1}' if row.next_method else None,
            "trigger_timeout": _date(row.due) if row.timeout else None,
            "wake_at": _date(row.due) if state in WITH_DATE else None,
            "queued_at": NOW if begun else None,
            "start_date": NOW if begun else None,
            "end_date": NOW if state in TERMINAL else None,
            **row.columns,
        }

    def _wait(self, one: Placed) -> dict[str, Any]:
        assert one.row.wait
        wait = one.row.wait
        timer = wait.holder == "timer"
        holders = {"triggerer": self.triggerer, "dead triggerer": self.dead_triggerer}
        return {
            "id": one.trigger_id,
            "classpath": "package.Trigger",
            "kwargs": "sealed",
            "created_date": NOW,
            "triggerer_id": holders.get(wait.holder),
            "claim": one.claim,
            "queue": wait.queue,
            "priority": wait.priority,
            "due_at": _date(wait.due) if timer else None,
            "event": '{"rang": true}' if timer else None,
            "ends": wait.ends,
            "shared_key": wait.shared_key,
            "on_kill": wait.on_kill,
            "parked_until": _date(wait.due) if wait.holder == "parked" else None,
            "parked_why": "no such module" if wait.holder == "parked" else None,
        }

    async def _copy(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Rows may have different columns; those with the same go together."""
        kinds: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
        for row in rows:
            kinds.setdefault(tuple(row), []).append(tuple(row.values()))
        for columns, records in kinds.items():
            await self.connection.copy_records_to_table(table, records=records, columns=columns)


async def scene(connection: "asyncpg.Connection[asyncpg.Record]") -> Scene:
    """Set the clock, make a DAG, and register the processes."""
    await set_clock(connection, NOW)
    await connection.execute("insert into dag (dag_id) values ('dag') on conflict do nothing")
    jobs = [("WorkerJob", True), ("WorkerJob", False), ("TriggererJob", True), ("TriggererJob", False)]
    return Scene(connection, *[await _job(connection, kind, alive) for kind, alive in jobs])


async def set_clock(connection: "asyncpg.Connection[asyncpg.Record]", now: datetime) -> None:
    """Let the database's clock stand at a date."""
    await connection.execute("update clock set frozen_at = $1, shift = '0'", now)


async def _job(connection: "asyncpg.Connection[asyncpg.Record]", kind: str, alive: bool) -> int:
    number: int = await connection.fetchval(
        "insert into job (job_type, state, hostname, start_date, latest_heartbeat, end_date, heartbeat_sec)"
        " values ($1, $2, 'host', $3, $3, $4, 5) returning id",
        *(kind, "running" if alive else "failed", NOW, None if alive else NOW),
    )
    return number


def _placed(row: Row, task: int, run: int, wait: int | None) -> Placed:
    leg = row.columns.get("leg", LEG)
    child_leg = leg if row.state in WITH_WORKER else leg - 1 if row.child else None
    return Placed(row, task, run, leg, child_leg, EPOCH, wait, CLAIM)


def _run(one: Placed) -> dict[str, Any]:
    state = one.row.run
    return {
        "id": one.run,
        **_identity(one),
        "state": state,
        "epoch": one.epoch,
        "queued_at": NOW,
        "start_date": None if state == RunState.QUEUED else NOW,
        "end_date": NOW if state in FINISHED_RUN else None,
        **one.row.run_columns,
    }


def _kill(one: Placed) -> dict[str, Any]:
    return {
        "trigger_id": one.trigger_id,
        "task_instance_id": one.id,
        "classpath": "package.Trigger",
        "kwargs": "sealed",
        "claim": one.claim,
        "reason": "cleared",
        "asked_at": NOW,
        "deadline": NOW + PATIENCE,
        **one.row.kill_columns,
    }


def _identity(one: Placed) -> dict[str, Any]:
    return {"dag_id": "dag", "run_id": f"run {one.run}"}


def _date(due: bool) -> datetime:
    return NOW if due else NOW + TICK
