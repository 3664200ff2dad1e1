"""A simulated scheduler: it looks at one moment and speaks at a later one, and keeps the house."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from bide.model.retry import Retry, after_failure
from bide.model.run_outcome import run_outcome
from bide.model.states import UNFINISHED, RunState, TaskState
from bide.model.trigger_rules import Upstream, Verdict, judge
from bide.sql import statement
from bide.store import deferral, views
from bide.store.deferral import NewWait
from bide.store.jobs import JobType
from bide.store.legs import FailedLeg
from bide.store.queueing import Refused
from bide.store.rows import Leg
from bide.store.runs import Concluded, Picture, Unstarted
from bide.store.views import Candidate
from tests.simulation.actors import SELDOM, Action, Actor
from tests.simulation.ledger import Violation

MANY = 1000
GRACE = timedelta(seconds=5)
SWEEP_AGE = timedelta(seconds=60)
BLIND = statement("candidates").text.replace("k.trigger_id = t.trigger_id", "false")
SPEAKS = {Verdict.SKIP: "skip_unstarted", Verdict.UPSTREAM_FAILED: "block"}


class Scheduler(Actor):
    """Decides by the model, on pictures that may be old when it says so."""

    kind = JobType.SCHEDULER

    def forget(self) -> None:
        self.decisions: list[tuple[str, tuple[Any, ...]]] = []
        self.room: list[tuple[str, int, tuple[Any, ...]]] = []
        self.queued: dict[int, int] = {}
        self.finishing: dict[int, FailedLeg] = {}

    def actions(self) -> Sequence[tuple[float, Action]]:
        ledger = self.world.ledger
        runs = Counter(run.state for run in ledger.runs.values())
        failing = any(task.failing and task.state is TaskState.SCHEDULED for task in ledger.tasks.values())
        return (
            (SELDOM + 2.5 * bool(runs[RunState.RUNNING]), self.and_maybe(self.look_at_a_run, self.decide)),
            (20 * bool(self.decisions), self.decide),
            (SELDOM + 5 * ledger.has(TaskState.SCHEDULED), self.and_maybe(self.look_at_room, self.hand_out)),
            (15 * bool(self.room), self.hand_out),
            (SELDOM + bool(runs[RunState.QUEUED]), self.and_maybe(self.look_at_queued_runs, self.hand_out)),
            (SELDOM + 4 * failing, self.and_maybe(self.look_at_failing, self.finish)),
            (6 * bool(self.finishing), self.finish),
            (SELDOM * bool(self.queued), self.refuse),
            (1 + 2 * ledger.has_dates(), self.mind_dates),
            (1, self.keep_house),
            (SELDOM / 2, self.expire),
            (SELDOM / 5, self.retire),
        )

    async def round(self) -> None:
        await self.look_at_queued_runs()
        await self.hand_out()
        await self.mind_dates()
        await self.expire()
        await self.look_at_failing()
        await self.finish()
        for run in await self._running_runs():
            await self.look_at(run)
            while self.decisions:
                await self.decide()
        for _ in range(2):
            await self.look_at_room()
            await self.hand_out()
        await self.keep_house()

    # Runs and their tasks.

    async def _running_runs(self) -> list[Any]:
        found: list[Any] = await self.world.hand.fetch(
            "select id, epoch from dag_run where state = 'running' order by id"
        )
        return found

    async def look_at_a_run(self) -> None:
        if found := await self._running_runs():
            await self.look_at(self.rng.choice(found))

    async def look_at(self, run: Any) -> None:
        """Draw a picture of a run and decide; it is said later."""
        rows = await self.world.hand.fetch(
            "select id, task_id, state, is_leaf, worker_id is not null as held, start_date is null as fresh "
            "from task_instance where dag_run_id = $1 order by id",
            run["id"],
        )
        shape = self.world.shapes[run["id"]]
        states: dict[str, list[TaskState]] = {}
        for row in rows:
            states.setdefault(row["task_id"], []).append(TaskState(row["state"]))
        not_taken = {shape.after[task][run["id"] % 2] for task in shape.branches if states[task] == [TaskState.SUCCESS]}
        said: dict[str, list[Unstarted]] = {}
        for row in rows:
            verb = self._verdict(shape.tasks[row["task_id"]], row, states, row["task_id"] in not_taken)
            if verb is not None:
                said.setdefault(verb, []).append(Unstarted(row["id"], run["epoch"]))
        self.decisions = [(verb, (self.some(tasks),)) for verb, tasks in said.items()]
        unfinished = tuple(Unstarted(row["id"], run["epoch"]) for row in rows if row["state"] in UNFINISHED)
        if shape.plan.fail_fast and unfinished and any(row["state"] == "failed" for row in rows):
            self.decisions.append(("stop", (self.world.patience(), unfinished, "run_failed")))
        outcome = run_outcome((TaskState(row["state"]), row["is_leaf"]) for row in rows)
        if outcome is None and self.world.chance(0.05):
            outcome = RunState.SUCCESS  # it lies
        if outcome is not None:
            self.decisions.append(("conclude", ((Concluded(run["id"], run["epoch"], outcome),),)))

    def _verdict(self, task: Any, row: Any, states: dict[str, list[TaskState]], not_taken: bool) -> str | None:
        unstarted = row["state"] in ("none", "restarting")
        if not unstarted and not (row["state"] == "scheduled" and row["fresh"]):
            return None
        if not_taken:
            return "skip_unstarted"
        verdict = judge(task.trigger_rule, Upstream.of(state for name in task.upstream for state in states[name]))
        if verdict is Verdict.READY and unstarted and not row["held"]:
            return "pass_empty" if task.is_empty else "ready"
        return SPEAKS.get(verdict)

    async def decide(self) -> None:
        if self.decisions:
            verb, args = self.decisions.pop(0)
            await self.world.say(verb, self.who, *args)

    async def expire(self) -> None:
        found = sorted(await views.expiring(self.world.db, MANY), key=lambda run: run.id)
        for run in found:
            if run.tasks:
                tasks = tuple(Unstarted(id, run.epoch) for id in run.tasks)
                await self.world.say("stop", self.who, self.world.patience(), tasks, "run_timed_out")
        if found:
            await self.world.say("expire", self.who, tuple(Picture(run.id, run.epoch) for run in found))

    # Room.

    async def look_at_queued_runs(self) -> None:
        turn = await views.current_turn(self.world.db)
        rows = await self.world.hand.fetch(
            "select id, dag_id, state from dag_run where state in ('queued', 'running') order by id"
        )
        active = Counter(row["dag_id"] for row in rows if row["state"] == RunState.RUNNING)
        chosen = []
        for row in rows:
            limit = self.world.shapes[row["id"]].plan.max_active_runs
            if row["state"] == RunState.QUEUED and active[row["dag_id"]] < limit:
                active[row["dag_id"]] += 1
                chosen.append(row["id"])
        if chosen:
            self.room.append(("begin", turn, tuple(chosen)))

    async def look_at_room(self) -> None:
        """Count the room and choose who gets it; the turn proves later that the count still holds."""
        turn = await views.current_turn(self.world.db)
        pools = {pool.name: pool.free for pool in await views.pool_room(self.world.db)}
        for name, free in pools.items():
            if free != self.world.ledger.pools[name][0] - self.world.ledger.slots_taken(name):
                raise Violation("I7", f"pool {name} seems to have {free} free slots")
        by_dag: Counter[str] = Counter()
        by_task: Counter[tuple[str, str]] = Counter()
        by_run: Counter[tuple[int, str]] = Counter()
        for busy in await views.busy(self.world.db):
            by_dag[busy.dag_id] += busy.number
            by_task[busy.dag_id, busy.task_id] += busy.number
            by_run[busy.dag_run_id, busy.task_id] += busy.number
        legs, starts = [], []
        for row in await self._candidates([name for name, free in pools.items() if free > 0]):
            plan = self.world.shapes[row.dag_run_id].plan
            if pools[row.pool] < row.pool_slots:
                continue
            if self.world.shapes[row.dag_run_id].tasks[row.task_id].start_from_trigger and not row.resumes:
                pools[row.pool] -= row.pool_slots
                starts.append(row)
                continue
            task, run = (row.dag_id, row.task_id), (row.dag_run_id, row.task_id)
            if (
                by_dag[row.dag_id] < plan.max_active_tasks
                and by_task[task] < (row.max_active_tis_per_dag or MANY)
                and by_run[run] < (row.max_active_tis_per_dagrun or MANY)
            ):
                pools[row.pool] -= row.pool_slots
                by_dag[row.dag_id] += 1
                by_task[task] += 1
                by_run[run] += 1
                legs.append(Leg(row.id, row.leg))
        if legs:
            self.room.append(("enqueue", turn, self.some(legs, 8)))
        if starts and (not legs or self.rng.random() < 0.5):
            self.room.append(("defer_at_start", turn, await self._waits_at_start(self.some(starts))))

    async def _candidates(self, pools: Sequence[str]) -> Sequence[Any]:
        """What may be queued; a bad scheduler overlooks that an on_kill may stand in the way."""
        if self.world.chance(0.7):
            blind: Sequence[Any] = await self.world.hand.fetch(BLIND, pools, 8)
            return [Candidate(**row) for row in blind]
        return await views.candidates(self.world.db, pools, 8)

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
            policy = self.world.shapes[row.dag_run_id].tasks[row.task_id].retry
            next = after_failure(policy, row.try_number, row.max_tries, seed=row.id)
            rest = next.delay if isinstance(next, Retry) else None
            self.finishing[row.id] = FailedLeg(row.id, row.leg, "scheduled", rest, "its wait failed")

    async def finish(self) -> None:
        if self.finishing:
            chosen = self.some(list(self.finishing))
            legs = tuple(self.finishing[id] for id in chosen)
            self.drop(self.finishing, chosen, await self.world.say("fail", self.who, legs))

    async def mind_dates(self) -> None:
        for verb, args in (("fire_due", (MANY,)), ("lapse", (self.world.patience(), MANY)), ("wake", (MANY,))):
            if not self.world.chaos or self.rng.random() < 0.5:
                await self.world.say(verb, self.who, *args)

    async def keep_house(self) -> None:
        limit = self.rng.choice((1, 2, MANY)) if self.world.chaos else MANY
        chores: list[tuple[str, tuple[Any, ...]]] = [
            ("suspect", ()),
            ("bury", (GRACE,)),
            ("orphan", (limit,)),
            ("rescue", (limit,)),
            ("give_up", (limit,)),
            ("unpark", (limit,)),
            ("sweep", (0, SWEEP_AGE, limit)),
        ]
        for verb, args in self.rng.sample(chores, 2) if self.world.chaos else chores:
            await self.world.say(verb, self.who, *args)
