"""Finding what somebody has named, or saying which name is near."""

from collections.abc import Iterable
from difflib import get_close_matches

from bide.errors import Unknown
from bide.model.plan import DagPlan, decode_plan
from bide.store import control
from bide.store.control import CurrentVersion, NamedRun
from bide.store.database import Database

DAGS_SHOWN = "`bide dags list` shows those that there are, `bide dags errors` broken files."


async def version_of(db: Database, dag_id: str) -> tuple[CurrentVersion, DagPlan]:
    """Find the latest version of a DAG and its plan."""
    version = await control.current_version(db, dag_id)
    if version is None:
        raise unknown("DAG", dag_id, await control.dag_ids(db), DAGS_SHOWN)
    return version, decode_plan(version.plan)


async def run_of(db: Database, dag_id: str, run_id: str) -> NamedRun:
    """Find a run of a DAG."""
    found = await control.runs_named(db, dag_id, [run_id])
    if not found:
        runs = [run.run_id for run in await control.runs_between(db, dag_id, None, None)]
        raise unknown("run", run_id, runs, f"`bide runs list {dag_id}` shows those that there are.", f" of {dag_id}")
    return found[0]


def tasks_of(plan: DagPlan, task_ids: Iterable[str]) -> list[str]:
    """Find tasks of a DAG."""
    known = {task.task_id for task in plan.tasks}
    found = list(task_ids)
    for task_id in found:
        if task_id not in known:
            otherwise = f"`bide tasks list {plan.dag_id}` shows them."
            raise unknown("task", task_id, known, otherwise, f" in {plan.dag_id}")
    return found


def unknown(what: str, name: str, known: Iterable[str], otherwise: str, where: str = "") -> Unknown:
    """Word the refusal of a name; `where` follows it, as in ' of sales'."""
    near = get_close_matches(name, list(known), n=1)
    return Unknown(f"There is no {what} {name!r}{where}; {f'did you mean {near[0]!r}?' if near else otherwise}")
