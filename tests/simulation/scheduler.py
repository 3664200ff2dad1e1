"""A simulated scheduler: it looks at one moment and speaks at a later one, and keeps the house."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from bide.model.retry import Retry, after_failure
from bide.model.states import RunState, TaskState
from bide.model.wait_over import SENSOR_TIMEOUT
from bide.scheduler.room import Room
from bide.store import deferral, views
from bide.store.deferral import NewWait
from bide.store.jobs import JobType, Watch
from bide.store.legs import FailedLeg, SkippedLeg
from bide.store.queueing import Refused
from bide.store.rows import Leg
from bide.store.runs import Picture, Unstarted
from bide.store.views import Candidate
from tests.simulation.actors import MANY, SELDOM, Action, Actor
from tests.simulation.calls import MOST_CLAIMS
from tests.simulation.consequences import Consequences
from tests.simulation.ledger import Violation, Word

GRACE = timedelta(seconds=5)
SWEEP_AGE = timedelta(seconds=60)


class Scheduler(Actor):
    """Decides by the model, on pictures that may be old when it says so."""

    kind = JobType.SCHEDULER

    def forget(self) -> None:
        self.consequences = Consequences(self)
        self.room: list[tuple[str, int, tuple[Any, ...]]] = []
        self.queued: dict[int, int] = {}
        self.finishing: dict[int, FailedLeg] = {}
        self.finishing_softly: dict[int, SkippedLeg] = {}

    def actions(self) -> Sequence[tuple[float, Action]]:
        ledger, following = self.world.ledger, self.consequences
        runs = Counter(run.state for run in ledger.runs.values())
        failing = any(task.failing and task.state is TaskState.SCHEDULED for task in ledger.tasks.values())
        return (
            (SELDOM + 2.5 * bool(runs[RunState.RUNNING]), self.and_maybe(following.look, following.speak)),
            (20 * bool(following.decisions), following.speak),
            (SELDOM + 5 * ledger.has(TaskState.SCHEDULED), self.and_maybe(self.look_at_room, self.hand_out)),
            (15 * bool(self.room), self.hand_out),
            (3 * bool(self._barred()), self.overlook),
            (SELDOM + bool(runs[RunState.QUEUED]), self.and_maybe(self.look_at_queued_runs, self.hand_out)),
            (SELDOM + 4 * failing, self.and_maybe(self.look_at_failing, self.finish)),
            (6 * bool(self.finishing or self.finishing_softly), self.finish),
            (SELDOM * bool(self.queued), self.refuse),
            (1 + 2 * ledger.has_dates(), self.mind_dates),
            (1, self.keep_house),
            (SELDOM / 2, self.expire),
            (0.5, self.adopt),
            (SELDOM / 5, self.retire),
        )

    async def round(self) -> None:
        await self.adopt()
        await self.look_at_queued_runs()
        await self.hand_out()
        await self.mind_dates()
        await self.expire()
        await self.look_at_failing()
        await self.finish()
        await self.consequences.follow_all()
        for _ in range(3):
            await self.look_at_room()
            await self.hand_out()
        await self.keep_house()

    # Runs.

    async def expire(self) -> None:
        found = sorted(await views.expiring(self.world.db, MANY), key=lambda run: run.id)
        for run in found:
            if run.tasks:
                tasks = tuple(Unstarted(id, run.epoch) for id in run.tasks)
                await self.world.say("stop", self.who, self.world.patience(), tasks, "run_timed_out")
        if found:
            await self.world.say("expire", self.who, tuple(Picture(run.id, run.epoch) for run in found))

    async def adopt(self) -> None:
        """Let runs go on with the latest version of their DAG."""
        outdated: dict[int, list[int]] = {}
        for run in await views.outdated_runs(self.world.db, MANY):
            outdated.setdefault(run.version_id, []).append(run.id)
        for version, ids in outdated.items():
            shape = self.world.versions[version]
            timeout = shape.plan.dagrun_timeout
            await self.world.say("adopt", self.who, self.some(ids), version, timeout, shape.instances)

    async def look_at_queued_runs(self) -> None:
        turn = await views.current_turn(self.world.db)
        if chosen := await views.beginnable(self.world.db, MANY):
            self.room.append(("begin", turn, tuple(chosen)))

    # Room.

    async def look_at_room(self) -> None:
        """Count the room and choose who gets it; the turn proves later that the count still holds."""
        turn = await views.current_turn(self.world.db)
        pools = await views.pool_room(self.world.db)
        for pool in pools:
            if pool.free != pool.slots - self.world.ledger.slots_taken(pool.name):
                raise Violation("I7", f"pool {pool.name} seems to have {pool.free} free slots")
        room = Room.of(pools, await views.busy(self.world.db))
        found = await views.candidates(self.world.db, room.open_pools, 8 if self.world.chaos else MANY)
        starts = [row for row in found if self._starts_waiting(row)]
        if starts and self.rng.random() < 0.5:
            starting = self.some([row for row in starts if room.admit([row])])
            if starting:
                self.room.append(("defer_at_start", turn, await self._waits_at_start(starting)))
        elif admitted := room.admit([row for row in found if not self._starts_waiting(row)]):
            self.room.append(("enqueue", turn, self.some([Leg(row.id, row.leg) for row in admitted], 8)))

    def _barred(self) -> list[Leg]:
        """Legs that an on_kill stands in the way of."""
        ledger = self.world.ledger
        scheduled = [task for task in ledger.tasks.values() if task.state is TaskState.SCHEDULED and not task.failing]
        return [Leg(task.id, task.leg) for task in scheduled if ledger.stopped_waits(task.id)]

    async def overlook(self) -> None:
        """Hand out what an on_kill stands in the way of, as a bad scheduler would. It is never late."""
        lie = Word("enqueue", self.who, (self.world.ledger.turn, tuple(self._barred())), forged=True)
        await self.world.deliver(lie)

    def _starts_waiting(self, row: Candidate) -> bool:
        task = self.world.shape(row.dag_run_id).tasks[row.task_id]
        return task.start_from_trigger is not None and not row.resumes

    async def _waits_at_start(self, rows: Sequence[Any]) -> tuple[NewWait, ...]:
        numbers = await deferral.reserve_trigger_ids(self.world.db, len(rows))
        shared = self.rng.random() < 0.3
        return tuple(
            NewWait(
                id=row.id,
                leg=row.leg,
                trigger_id=number,
                classpath="waits.AtStart",
                kwargs="sealed",
                next_method="resume",
                next_kwargs='{"from": "the start"}',
                timeout=timedelta(seconds=120),
                shared_key="at start" if shared else None,
                on_kill=shared or row.id % 2 == 0,
            )
            for row, number in zip(rows, numbers, strict=True)
        )

    async def hand_out(self) -> None:
        if not self.room:
            return
        # Mostly the latest count, sometimes an old one.
        verb, turn, items = self.room.pop(0 if self.rng.random() < 0.3 else -1)
        answer = await self.world.say(verb, self.who, turn, items)
        if verb == "enqueue" and answer:
            self.queued |= {row.id: row.leg for row in answer}
        if not self.world.chaos:
            self.room.clear()

    async def refuse(self) -> None:
        if self.queued:
            chosen = self.some(list(self.queued))
            legs = tuple(Refused(id, self.queued[id], "the executor is full") for id in chosen)
            self.drop(self.queued, chosen, await self.world.say("unqueue", self.who, legs))

    # Failures, dates and the house.

    async def look_at_failing(self) -> None:
        for row in await views.failing(self.world.db, MANY):
            task = self.world.shape(row.dag_run_id).tasks[row.task_id]
            if task.soft_fail and json.loads(row.next_kwargs).get("reason") == SENSOR_TIMEOUT:
                self.finishing_softly[row.id] = SkippedLeg(row.id, row.leg, "its time was up", "scheduled")
                continue
            policy = task.retry
            next = after_failure(policy, row.try_number, row.max_tries, seed=row.id)
            rest = next.delay if isinstance(next, Retry) else None
            self.finishing[row.id] = FailedLeg(row.id, row.leg, "scheduled", rest, "its wait failed")

    async def finish(self) -> None:
        if self.finishing:
            chosen = self.some(list(self.finishing))
            legs = tuple(self.finishing[id] for id in chosen)
            self.drop(self.finishing, chosen, await self.world.say("fail", self.who, legs))
        if self.finishing_softly:
            chosen = self.some(list(self.finishing_softly))
            softly = tuple(self.finishing_softly[id] for id in chosen)
            self.drop(self.finishing_softly, chosen, await self.world.say("skip", self.who, softly))

    async def mind_dates(self) -> None:
        for verb, args in (("fire_due", (MANY,)), ("lapse", (self.world.patience(), MANY)), ("wake", (MANY,))):
            if not self.world.chaos or self.rng.random() < 0.5:
                await self.world.say(verb, self.who, *args)

    def watch(self) -> Watch:
        """It may have begun a moment ago, or have been away; in the end it has watched all along."""
        now, long_ago = self.world.ledger.now, timedelta(days=1)
        since, until = (long_ago, timedelta(0))
        if self.world.chaos:
            since = self.rng.choice((long_ago, timedelta(seconds=10), timedelta(0)))
            until = self.rng.choice((timedelta(0), timedelta(0), timedelta(seconds=3)))
        calm = self.rng.choice((since, long_ago)) if self.world.chaos else since
        return Watch(now - since, now - until, now - calm)

    async def keep_house(self) -> None:
        limit = self.rng.choice((1, 2, MANY)) if self.world.chaos else MANY
        chores: list[tuple[str, tuple[Any, ...]]] = [
            ("suspect", ()),
            ("bury", (GRACE, self.watch())),
            ("orphan", (limit,)),
            ("rescue", (limit,)),
            ("free_callback", (MOST_CLAIMS, limit)),
            ("give_up", (limit,)),
            ("unpark", (limit,)),
            ("sweep", (0, SWEEP_AGE, limit)),
        ]
        for verb, args in self.rng.sample(chores, 2) if self.world.chaos else chores:
            await self.world.say(verb, self.who, *args)
