"""What has become due: retries and reschedules, timers, timeouts of waits and of runs, and legs that have to fail."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from bide.model.retry import Retry, RetryPolicy, after_failure
from bide.model.wait_over import NEVER_AGAIN, TAKEN_SOFTLY
from bide.scheduler.plans import Plans, Version
from bide.store import deferral, legs, people, queueing, runs, views
from bide.store.database import Database
from bide.store.legs import FailedLeg, SkippedLeg
from bide.store.runs import Picture, Unstarted
from bide.store.views import Expiring, Failing


class Dates:
    """Says the verbs about dates; the statements ask the database's clock whether the dates have come."""

    def __init__(self, db: Database, plans: Plans, who: str, kill_patience: timedelta, limit: int) -> None:
        self._db, self._plans, self._who = db, plans, who
        self._kill_patience, self._limit = kill_patience, limit

    async def keep(self) -> int:
        """Say everything that is due, and tell how many rows that moved."""
        moved: Sequence[Sequence[object]] = (
            await deferral.fire_due(self._db, self._who, self._limit),
            await deferral.lapse(self._db, self._who, self._kill_patience, self._limit),
            await queueing.wake(self._db, self._who, self._limit),
            await self._expire_runs(),
        )
        return sum(map(len, moved))

    async def finish_failing(self) -> int:
        """Finish the legs that have only to fail: no worker is needed for that."""
        failing = await views.failing(self._db, self._limit)
        versions = await self._plans.of([row.dag_version_id for row in failing if row.dag_version_id is not None])
        ends = [_end(row, versions.get(row.dag_version_id or 0)) for row in failing]
        failed = [end for end in ends if isinstance(end, FailedLeg)]
        skipped = [end for end in ends if isinstance(end, SkippedLeg)]
        done = await legs.fail(self._db, self._who, failed) if failed else []
        done += await legs.skip(self._db, self._who, skipped) if skipped else []
        return len(done)

    async def _expire_runs(self) -> Sequence[object]:
        expiring = await views.expiring(self._db, self._limit)
        if not expiring:
            return ()
        tasks = [Unstarted(task, run.epoch) for run in expiring for task in run.tasks]
        await people.stop(self._db, self._who, self._kill_patience, tasks, "run_timed_out")
        return await runs.expire(self._db, self._who, [_picture(run) for run in expiring])


def _picture(run: Expiring) -> Picture:
    return Picture(run.id, run.epoch)


def _end(row: Failing, version: Version | None) -> FailedLeg | SkippedLeg:
    """Decide what a wait comes to that has failed, by the same rules as the end of a leg on a worker."""
    task = version.tasks.get(row.task_id) if version else None
    policy = task.retry if task else RetryPolicy()
    said = msgspec.json.decode(row.next_kwargs, type=dict[str, object])
    if task and task.soft_fail and said.get("reason") in TAKEN_SOFTLY:
        return SkippedLeg(row.id, row.leg, f"Skipped instead of failing: {said.get('error')}", "scheduled")
    retryable = said.get("reason") not in NEVER_AGAIN
    tries = max(1, row.try_number)
    following = after_failure(policy, tries, row.max_tries, retryable=retryable, seed=row.id)
    rest = following.delay if isinstance(following, Retry) else None
    return FailedLeg(row.id, row.leg, "scheduled", rest, str(said.get("error", "it failed")))
