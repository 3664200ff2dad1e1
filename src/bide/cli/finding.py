"""Finding the DAG, the run and the task that somebody has named, or saying which name is near."""

from bide.control.known import run_of, tasks_of, version_of
from bide.errors import Refusal, Unknown
from bide.store import reports
from bide.store.database import Database
from bide.store.reports import DagFacts, RunFacts, TaskFacts

LATEST = "latest"
"""What people may write for the newest run of a DAG."""
MOST_SHOWN = 1000


async def find_dag(db: Database, dag_id: str) -> DagFacts:
    """Find a DAG."""
    found = await reports.describe_dag(db, dag_id)
    if found is None:
        # This finds the near name; it cannot find the DAG.
        await version_of(db, dag_id)
        raise Unknown(f"The DAG {dag_id!r} has just been taken away.")
    return found


async def find_run(db: Database, dag_id: str, run_id: str) -> RunFacts:
    """Find a run; `latest` is the newest one, unless a run is called so."""
    found = await reports.describe_run(db, dag_id, run_id)
    if found is not None:
        return found
    await version_of(db, dag_id)
    if run_id == LATEST:
        newest = await reports.list_runs(db, dag_id, None, None, 1)
        if not newest:
            raise Refusal(f"DAG {dag_id!r} has had no run yet; `bide dags trigger {dag_id}` launches one.")
        run_id = newest[0].run_id
        found = await reports.describe_run(db, dag_id, run_id)
    if found is None:
        await run_of(db, dag_id, run_id)
        raise Unknown(f"The run {run_id!r} of {dag_id} has just been taken away.")
    return found


async def find_task(db: Database, dag_id: str, run_id: str, task_id: str, map_index: int | None) -> TaskFacts:
    """Find a task instance; of a mapped task somebody has to say which one, unless there is only one."""
    run = await find_run(db, dag_id, run_id)
    there = await reports.list_instances(db, dag_id, run.run_id, task_id, -2, MOST_SHOWN)
    if not there:
        _, plan = await version_of(db, dag_id)
        tasks_of(plan, [task_id])
        raise Refusal(f"The run {run.run_id!r} has no task {task_id!r}: it runs with another version of {dag_id}.")
    if map_index is None and len(there) > 1:
        raise Refusal(f"{task_id!r} has {len(there):,} instances; say which, with --map-index 0 to {len(there) - 1}.")
    wanted = there[0].map_index if map_index is None else map_index
    found = await reports.describe_task(db, dag_id, run.run_id, task_id, wanted)
    if found is None:
        there_are = "it is not mapped" if there[0].map_index < 0 else f"it has those from 0 to {there[-1].map_index}"
        raise Unknown(f"There is no instance {wanted} of {task_id!r}; {there_are}.")
    return found
