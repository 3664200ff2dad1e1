"""Runs that are due by the schedules of their DAGs."""

from bide.model.instances import new_tasks
from bide.model.timetable import Interval, next_run, run_id_for
from bide.scheduler.plans import Plans, Version
from bide.store import plans as stored
from bide.store import runs, views
from bide.store.database import Database
from bide.store.runs import NewRun
from bide.store.views import DueDag


class Schedules:
    """Launches what is due. A run has its name from its date, so two schedulers launch it once."""

    def __init__(self, db: Database, plans: Plans, who: str, limit: int) -> None:
        self._db, self._plans, self._who, self._limit = db, plans, who, limit

    async def launch_due(self) -> int:
        """Launch the next run of each DAG that is due, and tell how many DAGs that were."""
        due = await views.due_dags(self._db, self._limit)
        versions = await self._plans.of([dag.version_id for dag in due])
        return sum([await self._launch(dag, versions[dag.version_id]) for dag in due if dag.version_id in versions])

    async def _launch(self, dag: DueDag, version: Version) -> bool:
        # Asked again instead of stored: what was missed, perhaps in a pause, may be passed over by now.
        last = None
        if dag.last_interval_start is not None and dag.last_interval_end is not None:
            last = Interval(dag.last_interval_start, dag.last_interval_end)
        found = next_run(version.plan, last, dag.now)
        if found is not None and found.due_at <= dag.now:
            interval = found.interval
            run = NewRun(run_id_for("scheduled", found.logical_date), found.logical_date, interval.start, interval.end)
            plan = version.plan
            await runs.launch(
                self._db, self._who, plan.dag_id, version.id, "scheduled", plan.dagrun_timeout, [run], new_tasks(plan)
            )
            last = interval
            found = next_run(plan, last, dag.now)
        begin, end = (last.start, last.end) if last else (None, None)
        following = found.due_at if found else None
        return await stored.advance_schedule(self._db, dag.dag_id, dag.next_run_at, begin, end, following)
