"""Launching a run of a DAG from its newest plan: what the scheduler, a person and a task's code do alike."""

from datetime import datetime
from typing import Literal

from bide.model.graph import leaves, priority_weights
from bide.model.plan import DagPlan, decode_plan
from bide.store import runs
from bide.store.children import newest_version
from bide.store.database import Database
from bide.store.runs import Launched, NewRun, NewTask

RunType = Literal["manual", "scheduled", "backfill", "asset"]


async def launch(
    db: Database,
    who: str,
    dag_id: str,
    *,
    run_type: RunType = "manual",
    run_id: str | None = None,
    logical_date: datetime | None = None,
    conf: str | None = None,
) -> Launched | None:
    """Launch a run of the newest version of a DAG; None if there is such a run already. LookupError: no such DAG."""
    newest = await newest_version(db, dag_id)
    if newest is None:
        raise LookupError(f"There is no DAG {dag_id!r}. See that its file was read and has no errors.")
    plan = decode_plan(newest.plan)
    name = run_id or f"{run_type}__{(logical_date or newest.now).isoformat()}"
    run = NewRun(name, logical_date, logical_date, logical_date, conf)
    launched = await runs.launch(db, who, dag_id, newest.id, run_type, plan.dagrun_timeout, [run], tasks_of(plan))
    return launched[0] if launched else None


def tasks_of(plan: DagPlan) -> list[NewTask]:
    """List the task instances that every run of the plan begins with; a mapped task is one until it is expanded."""
    last, weights = leaves(plan), priority_weights(plan)
    return [
        NewTask(
            task_id=task.task_id,
            operator=task.operator,
            pool=task.pool,
            pool_slots=task.pool_slots,
            priority_weight=weights[task.task_id],
            queue=task.queue,
            retries=task.retry.retries,
            execution_timeout=task.execution_timeout,
            sensor_timeout=task.sensor_timeout,
            max_active_tis_per_dag=task.max_active_tis_per_dag,
            max_active_tis_per_dagrun=task.max_active_tis_per_dagrun,
            is_leaf=task.task_id in last,
            callbacks=",".join(sorted(task.callbacks)),
        )
        for task in plan.tasks
    ]
