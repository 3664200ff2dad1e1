"""One seed: random steps of everybody, then a time in which all are well and everything must come to its end."""

import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bide.model.states import FINISHED_RUN
from bide.store import views
from tests.simulation.actors import Action, Actor
from tests.simulation.checker import check_rest, check_tables
from tests.simulation.ledger import Violation
from tests.simulation.person import Person
from tests.simulation.scheduler import Scheduler
from tests.simulation.triggerer import Triggerer
from tests.simulation.worker import Worker
from tests.simulation.world import Arena, World

CHECK_EVERY = 15
MOST_FROZEN = 2
MOST_ROUNDS = 30
ENTRIES_SHOWN = 25
SEC = timedelta(seconds=1)


@dataclass
class Report:
    """What became of a seed."""

    seed: int
    steps: int = 0
    rounds: int = 0
    digest: str = ""
    violation: str = ""
    invariant: str = ""
    said: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)


class Simulation:
    """The cast of one seed."""

    def __init__(self, arena: Arena, seed: int) -> None:
        self.world = World(arena, seed)
        self.rng = self.world.rng
        self.actors: list[Actor] = [
            Scheduler(self.world, "scheduler A", holds_lock=True),
            Scheduler(self.world, "scheduler B"),
            Worker(self.world, "worker A", ("default", "big")),
            Worker(self.world, "worker B", ("default",), holds_lock=True),
            Triggerer(self.world, "triggerer A", ("", "gpu"), holds_lock=True),
            Triggerer(self.world, "triggerer B", ("",)),
        ]
        self.people = [Person(self.world, "ada"), Person(self.world, "bob")]

    async def run(self, steps: int) -> int:
        """Play the steps, settle, and say how many rounds that took."""
        await self.world.begin()
        for actor in self.actors:
            await actor.join()
        for person in self.people:
            await person.launch()
        for self.world.step in range(1, steps + 1):
            await self.one_step()
            if self.world.step % CHECK_EVERY == 0:
                await check_tables(self.world.hand, self.world.ledger)
        return await self.settle()

    async def one_step(self) -> None:
        """One thing happens."""
        await self._one_of(
            (
                (100, self.somebody_acts),
                (14, self.time_passes),
                (5 * bool(self.world.late), self.world.say_late),
                (9, self.person_acts),
                (5, self.freeze_or_thaw),
                (1, self.clock_jumps),
                (1, self.crash),
            )
        )

    async def somebody_acts(self) -> None:
        possible: list[tuple[float, Action]] = []
        for actor in self.actors:
            if not actor.frozen:
                possible += actor.actions() if actor.job else [(5, actor.join)]
        await self._one_of(possible)

    async def _one_of(self, possible: Sequence[tuple[float, Action]]) -> None:
        weights, actions = zip(*possible, strict=True)
        await self.rng.choices(actions, weights)[0]()

    async def person_acts(self) -> None:
        await self.rng.choice(self.people).act()

    async def freeze_or_thaw(self) -> None:
        """A frozen process wakes up with its old knowledge, and says what it was about to say."""
        frozen = [actor for actor in self.actors if actor.frozen]
        if frozen and (len(frozen) == MOST_FROZEN or self.rng.random() < 0.5):
            self.rng.choice(frozen).frozen = False
        else:
            self.rng.choice(self.actors).frozen = True

    async def crash(self) -> None:
        actor = self.rng.choice(self.actors)
        await actor.crash()
        actor.frozen = False

    async def time_passes(self) -> None:
        """Time passes for all alike; those who are well beat in time."""
        await self.world.set_clock(self.world.ledger.now + self.rng.uniform(0.001, 12) * SEC)
        for actor in self.actors:
            if actor.job and not actor.frozen and self.rng.random() < 0.6:
                await actor.beat()

    async def clock_jumps(self) -> None:
        """The database's clock jumps, far ahead or a little back, and nobody has beaten in between."""
        jump = self.rng.choice((-3, -1, 30, 120, 600)) * self.rng.uniform(0.5, 1) * SEC
        await self.world.set_clock(self.world.ledger.now + jump)

    async def settle(self) -> int:
        """The chaos ends: late words arrive, everybody is well, and whatever has begun must end."""
        world = self.world
        world.chaos = False
        while world.late:
            await world.say_late()
        rounds = 0
        while rounds < MOST_ROUNDS:
            rounds += 1
            await world.set_clock(world.ledger.now + 20 * SEC)
            for actor in self.actors:
                await actor.healthy()
                await actor.round()
            ledger = world.ledger
            if (
                all(run.state in FINISHED_RUN for run in ledger.runs.values())
                and not ledger.kills
                and all(wait.kept for wait in ledger.waits.values())
                and all(task.worker is None for task in ledger.tasks.values())
                and not any(call.state in ("pending", "running") for call in ledger.calls.values())
            ):
                break
        free = {pool.name: pool.free for pool in await views.pool_room(world.db)}
        await check_rest(world.hand, world.ledger, free)
        return rounds


async def simulate(arena: Arena, seed: int, steps: int) -> Report:
    """Run a seed, and tell what became of it. What the simulator itself cannot follow is a finding too."""
    simulation = Simulation(arena, seed)
    world, report = simulation.world, Report(seed)
    try:
        report.rounds = await simulation.run(steps)
    except Violation as violation:
        report.invariant = violation.invariant
        report.violation = await _told(world, str(violation), violation.tasks, steps)
    except Exception:
        report.violation = await _told(world, f"the simulator failed\n{traceback.format_exc()}", (), steps)
    report.steps, report.digest = world.step, world.digest()
    report.said, report.accepted, report.refused, report.faults = (
        world.said,
        world.accepted,
        world.refused,
        world.faults,
    )
    return report


async def _told(world: World, what: str, tasks: Sequence[int], steps: int) -> str:
    """What is wrong, what led to it, and how to see it again."""
    return "\n".join(
        [
            f"seed {world.seed}, step {world.step}{'' if world.chaos else ', settling'}: {what}",
            *await _history(world.hand, tasks),
            f"replay: python -m tests.simulation --seed {world.seed} --steps {steps}",
        ]
    )


async def _history(hand: Any, tasks: Sequence[int]) -> list[str]:
    """The last history of the tasks, and of the waits they were in; of everything where no task is known."""
    rows = await hand.fetch(
        "select * from (select * from history where cardinality($1::bigint[]) = 0 or task_instance_id = any ($1)"
        " or trigger_id in (select trigger_id from history where task_instance_id = any ($1))"
        " order by id desc limit $2) h order by id",
        list(tasks),
        ENTRIES_SHOWN,
    )
    return [" ".join(f"{key}={value}" for key, value in row.items() if value is not None) for row in rows]
