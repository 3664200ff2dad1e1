"""Which tasks of which runs somebody means. The graph is that of the latest version of the DAG."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from bide.control.known import run_of, tasks_of, version_of
from bide.model.graph import downstream
from bide.model.plan import DagPlan
from bide.model.states import TaskState
from bide.store import control
from bide.store.control import Instance, NamedRun
from bide.store.database import Database


@dataclass(frozen=True, kw_only=True)
class Meant:
    """What somebody has said. No task means all of them; no state means any."""

    dag_id: str
    run_id: str
    task_ids: tuple[str, ...] = ()
    map_indexes: tuple[int, ...] = ()
    upstream: bool = False
    downstream: bool = False
    past: bool = False
    future: bool = False
    states: tuple[TaskState, ...] = ()


async def select(db: Database, meant: Meant) -> list[Instance]:
    """Find the task instances that are meant."""
    _, plan = await version_of(db, meant.dag_id)
    run = await run_of(db, meant.dag_id, meant.run_id)
    named = tasks_of(plan, meant.task_ids) or [task.task_id for task in plan.tasks]
    found = await control.instances_of(
        db,
        [run.id for run in await _runs(db, meant, run)],
        sorted(related(plan, named, meant)),
        list(meant.states) or None,
    )
    # Only the named tasks are mapped as somebody has said; of the others every instance is meant.
    return [
        one
        for one in found
        if not meant.map_indexes or one.task_id not in meant.task_ids or one.map_index in meant.map_indexes
    ]


async def _runs(db: Database, meant: Meant, run: NamedRun) -> list[NamedRun]:
    if run.logical_date is None or not (meant.past or meant.future):
        return [run]
    first = None if meant.past else run.logical_date
    last = None if meant.future else run.logical_date
    return await control.runs_between(db, meant.dag_id, first, last)


def related(plan: DagPlan, task_ids: Iterable[str], meant: Meant) -> set[str]:
    """Add what comes before and after these tasks, as far as that is meant."""
    found = set(task_ids)
    if meant.upstream:
        found |= _reached(found, {task.task_id: task.upstream for task in plan.tasks})
    if meant.downstream:
        found |= _reached(found, downstream(plan))
    return found


def _reached(start: Collection[str], nearest: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    open_ends = list(start)
    while open_ends:
        new = [id for id in nearest.get(open_ends.pop(), ()) if id not in found]
        found.update(new)
        open_ends += new
    return found
