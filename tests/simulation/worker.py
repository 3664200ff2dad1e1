"""A simulated worker: it starts legs, and its children end in every way that there is."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from bide.model.retry import Retry, after_failure
from bide.model.states import TaskState
from bide.store import deferral, views
from bide.store.callbacks import EndedCall
from bide.store.deferral import NewWait
from bide.store.jobs import JobType
from bide.store.legs import FailedLeg, RescheduledLeg, SkippedLeg
from bide.store.rows import Leg, XCom
from tests.simulation.actors import SELDOM, Action, Actor

SEC = timedelta(seconds=1)
OUTCOMES = {"succeed": 28, "defer": 35, "fail": 12, "reschedule": 9, "skip": 7, "drain": 6}


class Worker(Actor):
    """Runs children: each is a task and the leg that it was given."""

    kind = JobType.WORKER

    def forget(self) -> None:
        self.offers: list[Leg] = []
        self.children: dict[int, int] = {}
        self.stopping: dict[int, int] = {}
        self.calls: dict[int, int] = {}

    def actions(self) -> Sequence[tuple[float, Action]]:
        return (
            (SELDOM + 5 * self.world.ledger.has(TaskState.QUEUED), self.and_maybe(self.look, self.start)),
            (12 * bool(self.offers), self.start),
            (15 * bool(self.children), self.report),
            (0.5, self.compare),
            (6 * bool(self.stopping), self.stop_children),
            (SELDOM, self.take_callbacks),
            (bool(self.calls), self.end_callbacks),
            (SELDOM / 5, self.leave),
        )

    async def round(self) -> None:
        await self.compare()
        await self.stop_children()
        await self.report()
        await self.look()
        await self.start()
        await self.report()
        await self.take_callbacks()
        await self.end_callbacks()

    async def look(self) -> None:
        self.offers = await views.offered(self.world.db, list(self.queues), 6)

    async def start(self) -> None:
        if self.offers:
            chosen = self.some(self.offers)
            answer = await self.world.say("start", self.who, self.job, chosen)
            for row in answer or ():
                self.children[row.id] = row.leg
            if answer is not None:
                self.offers = [leg for leg in self.offers if leg not in chosen]

    async def compare(self) -> None:
        """Hold its children against what the database says of them."""
        told = {row.id: row for row in await views.legs_of(self.world.db, self.job)}
        self.children = {id: leg for id, leg in self.children.items() if id in told and told[id].child_leg == leg}
        for row in told.values():
            if row.state is not TaskState.RUNNING or row.leg != row.child_leg:
                self.children.pop(row.id, None)
                self.stopping[row.id] = row.child_leg
            else:
                # The answer to its "start" was lost.
                self.children.setdefault(row.id, row.child_leg)

    async def report(self) -> None:
        if not self.children:
            return
        chosen = self.some(list(self.children))
        verb = self.rng.choices(list(OUTCOMES), list(OUTCOMES.values()))[0] if self.world.chaos else "succeed"
        legs = [Leg(id, self.children[id]) for id in chosen]
        answer = await self.world.say(verb, self.who, *await self._outcome(verb, legs))
        if verb == "drain":
            self.stopping |= {id: self.children[id] for id in chosen}
        self.drop(self.children, chosen, answer)

    async def _outcome(self, verb: str, legs: Sequence[Leg]) -> tuple[Any, ...]:
        if verb == "succeed":
            values = tuple(
                XCom(leg.id, leg.leg, key, json.dumps(leg.leg)) for leg in legs for key in ("return_value", "other")
            )
            return tuple(legs), values
        if verb == "fail":
            return (tuple(self._failed(leg) for leg in legs),)
        if verb == "reschedule":
            return (tuple(self._rescheduled(leg) for leg in legs),)
        if verb == "skip":
            return (tuple(SkippedLeg(leg.id, leg.leg, "nothing to do") for leg in legs),)
        if verb == "defer":
            numbers = await deferral.reserve_trigger_ids(self.world.db, len(legs))
            return (tuple(self._wait(leg, number) for leg, number in zip(legs, numbers, strict=True)),)
        return (tuple(legs),)

    def _failed(self, leg: Leg) -> FailedLeg:
        # What a worker was told when the leg began.
        task = self.world.ledger.tasks[leg.id]
        policy = self.world.shape(task.run).tasks[task.facts.task_id].retry
        helps = self.rng.random() < 0.9
        next = after_failure(policy, max(1, task.tries), task.max_tries, retryable=helps, seed=leg.id)
        return FailedLeg(leg.id, leg.leg, "running", next.delay if isinstance(next, Retry) else None, "it raised")

    def _rescheduled(self, leg: Leg) -> RescheduledLeg:
        pause = self.rng.uniform(-5, 40) * SEC
        if self.rng.random() < 0.5:
            return RescheduledLeg(leg.id, leg.leg, after=max(pause, 0 * SEC))
        return RescheduledLeg(leg.id, leg.leg, until=self.world.ledger.now + pause)

    def _wait(self, leg: Leg, number: int) -> NewWait:
        kind = self.rng.choice(("plain", "timer", "timer", "shared", "stubborn", "stubborn", "elsewhere"))
        wait = NewWait(
            id=leg.id,
            leg=leg.leg,
            trigger_id=number,
            classpath=f"waits.{kind}",
            kwargs="sealed",
            next_method="resume",
            next_kwargs=self.rng.choice(("{}", '{"since": 1}')),
            timeout=self.rng.choice((None, None, self.rng.uniform(5, 150) * SEC)),
        )
        if kind == "timer":
            pause = self.rng.uniform(-2, 60) * SEC
            in_a_while = self.rng.random() < 0.5
            return replace(
                wait,
                due_in=max(pause, 0 * SEC) if in_a_while else None,
                due_at=None if in_a_while else self.world.ledger.now + pause,
                event=json.dumps({"due": number}),
                ends=self.rng.random() < 0.3,
            )
        if kind == "shared":
            hub = self.rng.randint(1, 2)
            return replace(wait, shared_key=f"hub {hub}", on_kill=hub == 1)
        return replace(wait, on_kill=kind != "plain", queue="gpu" if kind == "elsewhere" else None)

    async def stop_children(self) -> None:
        if self.stopping:
            chosen = self.some(list(self.stopping))
            legs = tuple(Leg(id, self.stopping[id]) for id in chosen)
            self.drop(self.stopping, chosen, await self.world.say("stopped", self.who, legs))

    async def take_callbacks(self) -> None:
        limit = self.rng.randint(1, 3) if self.world.chaos else 1000
        answer = await self.world.say("take_callback", self.who, self.job, self.queues, limit, 30 * SEC)
        self.calls |= {taken.call.id: taken.call.claim for taken in answer or ()}

    async def end_callbacks(self) -> None:
        if self.calls:
            chosen = self.some(list(self.calls))
            said = tuple(EndedCall(id, self.calls[id], self.rng.choice((None, "it broke"))) for id in chosen)
            self.drop(self.calls, chosen, await self.world.say("end_callback", self.who, said))

    async def leave(self) -> None:
        """Drain what there is, and go. Whatever does not arrive is a death like any other."""
        if self.children:
            legs = tuple(Leg(id, leg) for id, leg in self.children.items())
            await self.world.say("drain", self.who, legs)
            await self.world.say("stopped", self.who, legs)
        await self.retire()
