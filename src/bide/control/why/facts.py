"""What a sentence about a task is made from, and how it is read: only what the task's state makes interesting."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from bide.model.plan import TaskPlan, decode_plan
from bide.model.states import RunState, TaskState
from bide.store import looks, plans, reports, views, why
from bide.store.database import Database
from bide.store.jobs import JobType
from bide.store.looks import DatedTask, Tally, TaskOfRun
from bide.store.reports import HistoryLine
from bide.store.views import Busy, PoolRoom
from bide.store.why import Alive, PoolSituation, RunsBefore, TaskSituation

NAMED = 3
"""So many names stand in a sentence; it is one sentence."""
LOOKED_BACK = 20
"""Entries of the history among which the one that led here is looked for."""

_NOT_BEGUN = (TaskState.NONE, TaskState.RESTARTING)
_BY_UPSTREAM = (*_NOT_BEGUN, TaskState.UPSTREAM_FAILED, TaskState.SKIPPED)
_HELPERS = {
    TaskState.QUEUED: JobType.WORKER,
    TaskState.DEFERRED: JobType.TRIGGERER,
    TaskState.SCHEDULED: JobType.TRIGGERER,
}


@dataclass(frozen=True)
class Facts:
    """All that is known when a sentence is made."""

    task: TaskSituation
    schedulers: Sequence[Alive] = ()
    # Workers for what is queued, triggerers for what waits.
    helpers: Sequence[Alive] = ()
    history: Sequence[HistoryLine] = ()
    plan: TaskPlan | None = None
    upstream_plans: Sequence[TaskPlan] = ()
    upstream: Sequence[Tally] = ()
    past: Sequence[TaskState] = ()
    runs: RunsBefore | None = None
    room: PoolRoom | None = None
    pool: PoolSituation | None = None
    busy: Sequence[Busy] = field(default=())

    @property
    def led_here(self) -> HistoryLine | None:
        """The entry of the history by which the task has come to its state."""
        here = [line for line in self.history if line.to_state == self.task.state != line.from_state]
        return here[-1] if here else None

    @property
    def is_watched(self) -> bool:
        """Whether a scheduler is alive, without which hardly anything moves."""
        return bool(self.schedulers)

    def since(self) -> timedelta | None:
        """How long the task has been in its state, as far as the history tells."""
        return self.task.now - self.led_here.at if self.led_here else None


@dataclass(frozen=True)
class Cause:
    """One reason for which a task may be where it is."""

    name: str
    holds: Callable[[Facts], object]
    says: Callable[[Facts], str]


async def read(db: Database, task: TaskSituation) -> Facts:
    """Read what there is to know about a task in this state."""
    state = task.state
    not_begun = task.run_state is RunState.QUEUED
    scheduled = state is TaskState.SCHEDULED
    plan, before, tallies = await _upstream(db, task) if state in _BY_UPSTREAM else (None, (), ())
    helper = _HELPERS.get(state)
    return Facts(
        task,
        await why.processes_alive(db, JobType.SCHEDULER),
        await why.processes_alive(db, helper) if helper else (),
        await reports.task_history(db, task.id, LOOKED_BACK),
        plan,
        before,
        tallies,
        await _past(db, task, plan) if state in _NOT_BEGUN and plan is not None else (),
        await why.runs_before(db, task.dag_id, NAMED) if not_begun else None,
        next((pool for pool in await views.pool_room(db) if pool.name == task.pool), None) if scheduled else None,
        await why.pool_situation(db, task.pool, task.id, NAMED) if scheduled else None,
        await views.busy(db) if scheduled else (),
    )


async def _upstream(db: Database, task: TaskSituation) -> tuple[TaskPlan | None, Sequence[TaskPlan], Sequence[Tally]]:
    """Read how the tasks before this one stand, by the version of the DAG that the run has."""
    if task.dag_version_id is None:
        return None, (), ()
    text = (await plans.stored_plans(db, [task.dag_version_id]))[task.dag_version_id]
    tasks = {one.task_id: one for one in decode_plan(text).tasks}
    own = tasks.get(task.task_id)
    if own is None:
        return None, (), ()
    asked = [TaskOfRun(task.dag_run_id, task.dag_id, task.run_id, name) for name in own.upstream]
    return own, [tasks[name] for name in own.upstream], await looks.tallies(db, asked)


async def _past(db: Database, task: TaskSituation, plan: TaskPlan) -> Sequence[TaskState]:
    """Read how a task that looks back stands in the run before."""
    if task.logical_date is None or not (plan.depends_on_past or plan.wait_for_downstream):
        return ()
    asked = [DatedTask(task.dag_run_id, task.dag_id, task.logical_date, task.task_id)]
    found = await looks.past(db, asked)
    return sorted(found.get((task.dag_run_id, task.task_id), ()))
