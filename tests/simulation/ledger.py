"""What the checker believes of the world: told from the words that were said and the history they left.

Nothing here reads the engine's tables, and no SQL is shared with it. Where the ledger and the tables differ, one of
them is wrong.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bide.model.states import TERMINAL, RunState, TaskState
from bide.store.runs import NewTask


class Violation(AssertionError):
    """Something that must never happen has happened."""

    def __init__(self, invariant: str, text: str, tasks: Collection[int] = ()) -> None:
        super().__init__(f"{invariant}: {text}")
        self.invariant = invariant
        self.tasks = tuple(tasks)


@dataclass(frozen=True)
class Word:
    """A verb that somebody says: the function of the store of that name, and what it is given; or a liar says it."""

    verb: str
    who: str
    args: tuple[Any, ...] = ()
    forged: bool = False


@dataclass
class Task:
    """A task instance. `method` and `kwargs` say how it goes on; `opened` that a try has begun."""

    id: int
    run: int
    dag: str
    facts: NewTask
    state: TaskState = TaskState.NONE
    leg: int = 0
    tries: int = 0
    max_tries: int = 0
    wait: int | None = None
    last_wait: int | None = None
    worker: int | None = None
    child_leg: int | None = None
    method: str | None = None
    kwargs: Any = None
    opened: bool = False
    try_deadline: datetime | None = None
    sensor_deadline: datetime | None = None
    wait_deadline: datetime | None = None
    wake_at: datetime | None = None

    @property
    def busy(self) -> bool:
        """Whether it takes room: a child that has still to stop does."""
        return self.state is TaskState.QUEUED or self.worker is not None

    @property
    def failing(self) -> bool:
        return self.method == "__fail__"


@dataclass
class Wait:
    """A trigger. One that was put there by hand has no tasks; `kept` says that something else needs it."""

    id: int
    created: datetime
    queue: str | None = None
    priority: int = 0
    due: datetime | None = None
    event: Any = None
    ends: bool = False
    shared_key: str | None = None
    on_kill: bool = False
    kept: bool = False
    claim: int = 0
    holder: int | None = None
    parked_until: datetime | None = None
    tasks: list[int] = field(default_factory=list)

    @property
    def free(self) -> bool:
        """Whether a triggerer may claim it."""
        return self.holder is None and self.due is None and self.parked_until is None


@dataclass
class Kill:
    """An on_kill that somebody waits for."""

    trigger: int
    task: int
    queue: str | None
    holder: int | None
    claim: int
    reason: str
    deadline: datetime
    taken: bool = False


@dataclass
class Call:
    """A callback of a task."""

    id: int
    task: int
    kind: str
    tries: int
    queue: str
    state: str = "pending"
    claim: int = 0
    holder: int | None = None
    deadline: datetime | None = None


@dataclass
class Job:
    """A process."""

    id: int
    heartbeat: datetime
    heartbeat_sec: float
    holds_lock: bool
    state: str = "running"
    suspected_at: datetime | None = None


@dataclass
class Run:
    """A run of a DAG."""

    id: int
    dag: str
    version: int
    timeout: timedelta | None
    state: RunState = RunState.QUEUED
    epoch: int = 0
    timeout_at: datetime | None = None


@dataclass
class Ledger:
    """Everything, as it must be now."""

    now: datetime
    pools: Mapping[str, tuple[int, bool]]
    max_active_tasks: Mapping[str, int]
    max_active_runs: Mapping[str, int]
    turn: int = 0
    tasks: dict[int, Task] = field(default_factory=dict)
    waits: dict[int, Wait] = field(default_factory=dict)
    kills: dict[int, Kill] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    locks: set[int] = field(default_factory=set)
    xcoms: dict[int, dict[str, Any]] = field(default_factory=dict)
    callbacks: Counter[tuple[int, str, int]] = field(default_factory=Counter)
    calls: dict[int, Call] = field(default_factory=dict)

    def alive(self, job: int | None) -> bool:
        return job is not None and self.jobs[job].state == "running"

    def has(self, *states: TaskState) -> bool:
        return any(task.state in states for task in self.tasks.values())

    def has_dates(self) -> bool:
        """Whether a date of a task or a timer has come."""
        dates = [date for task in self.tasks.values() for date in (task.wake_at, task.wait_deadline)]
        dates += [wait.due for wait in self.waits.values()]
        return any(date is not None and date <= self.now for date in dates)

    def has_free_waits(self) -> bool:
        return any(wait.free for wait in self.waits.values())

    def of_run(self, run: int) -> list[Task]:
        return [task for task in self.tasks.values() if task.run == run]

    def done(self, run: int) -> bool:
        return all(task.state in TERMINAL for task in self.of_run(run))

    def stopped_waits(self, task: int) -> bool:
        """Whether an on_kill stands between the task and its next leg."""
        return self.tasks[task].last_wait in self.kills

    def slots_taken(self, pool: str) -> int:
        _, include_deferred = self.pools[pool]
        return sum(
            task.facts.pool_slots
            for task in self.tasks.values()
            if task.facts.pool == pool and (task.busy or (include_deferred and task.state is TaskState.DEFERRED))
        )
