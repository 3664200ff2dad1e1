"""A run goes with the latest version of its DAG until it ends: what a saved file says is live in it too."""

from collections import defaultdict
from datetime import timedelta

from bide.model.instances import new_tasks
from bide.scheduler.plans import Plans
from bide.store import people, runs, views
from bide.store.database import Database

MOST_AT_ONCE = 100


async def adopt(db: Database, plans: Plans, who: str, kill_patience: timedelta) -> int:
    """Let a batch of runs adopt the latest versions of their DAGs, and take tasks out that are in them no more."""
    outdated: dict[int, list[int]] = defaultdict(list)
    for run in await views.outdated_runs(db, MOST_AT_ONCE):
        outdated[run.version_id].append(run.id)
    adopted = 0
    for version_id, version in (await plans.of(outdated)).items():
        # Gone tasks first: were this scheduler to die in between, the runs would still count as outdated.
        gone = await views.strangers(db, outdated[version_id], list(version.tasks))
        await people.remove(db, who, kill_patience, gone)
        plan = version.plan
        done = await runs.adopt(db, who, outdated[version_id], version_id, plan.dagrun_timeout, new_tasks(plan))
        adopted += len(done)
    return adopted
