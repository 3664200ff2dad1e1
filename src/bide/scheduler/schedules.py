"""Runs that are due by the schedules of their DAGs."""

from bide.model.instances import new_tasks
from bide.model.timetable import next_run, run_id_for
from bide.scheduler.plans import Plans, Version
from bide.store import plans as stored
from bide.store import runs, views
from bide.store.database import Database
from bide.store.plans import Schedule
from bide.store.runs import NewRun
from bide.store.views import DueDag

MOST_AT_ONCE = 100


class Schedules:
    """Launches what is due. A run has its name from its date, so two schedulers launch it once."""

    def __init__(self, db: Database, plans: Plans, who: str) -> None:
        self._db, self._plans, self._who = db, plans, who

    async def launch_due(self) -> int:
        """Launch the next run of each DAG that is due, and tell how many DAGs have moved on."""
        due = await views.due_dags(self._db, MOST_AT_ONCE)
        versions = await self._plans.of([dag.version_id for dag in due])
        schedules = await stored.schedules(self._db, [dag.dag_id for dag in due])
        moved = [
            await self._launch(dag, versions[dag.version_id], schedules[dag.dag_id])
            for dag in due
            if dag.version_id in versions
        ]
        return sum(moved)

    async def _launch(self, dag: DueDag, version: Version, schedule: Schedule) -> bool:
        # Asked again, not taken from the row: what was missed, perhaps in a pause, may be passed over by now.
        plan, last = version.plan, schedule.last
        found = next_run(plan, last, schedule.now)
        if found is not None and found.due_at <= schedule.now:
            interval = found.interval
            run = NewRun(run_id_for("scheduled", found.logical_date), found.logical_date, interval.start, interval.end)
            await runs.launch(
                self._db, self._who, plan.dag_id, version.id, "scheduled", plan.dagrun_timeout, [run], new_tasks(plan)
            )
            found = next_run(plan, interval, schedule.now)
        return await stored.advance_schedule(self._db, dag.dag_id, dag.next_run_at, found)
