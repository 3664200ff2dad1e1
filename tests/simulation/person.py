"""A simulated person: launches, clears, marks and removes, and steers waits, by what the screen showed a while ago."""

from datetime import timedelta

from bide.model.states import FINISHED_RUN, RunState, TaskState
from bide.store.by_hand import ExtendedWait, SeenWait
from bide.store.runs import Picture
from tests.simulation.shapes import SHAPES
from tests.simulation.world import World

MOST_OPEN_RUNS = 5
FINISHED = (RunState.SUCCESS, RunState.FAILED)
AT_WORK = (TaskState.RUNNING, TaskState.DEFERRED)
MARKS = (TaskState.SUCCESS, TaskState.FAILED, TaskState.SKIPPED)


class Person:
    """Somebody at the screen."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.rng, self.name = world, world.rng, name
        self.launched = 0
        self.screen: dict[int, int] = {}
        self.waits: list[SeenWait] = []

    async def act(self) -> None:
        """Do one thing."""
        actions = {
            self.launch: 5,
            self.clear: 8,
            self.mark: 4,
            self.remove: 1,
            self.look: 2,
            self.mark_run: 2,
            self.stray: 2,
            self.publish: 2,
            self.look_at_waits: 3,
            self.steer: 8,
        }
        await self.rng.choices(list(actions), list(actions.values()))[0]()

    async def launch(self) -> None:
        open_runs = [run for run in self.world.ledger.runs.values() if run.state not in FINISHED_RUN]
        if len(open_runs) < MOST_OPEN_RUNS:
            self.launched += self.rng.random() < 0.9
            await self.world.launch(self.name, self.rng.choice(list(SHAPES)), f"{self.name} {self.launched}")

    async def clear(self) -> None:
        await self._say_of_tasks("clear", "shall run again")

    async def mark(self) -> None:
        await self._say_of_tasks("mark", self.rng.choice(MARKS), "known better")

    async def remove(self) -> None:
        await self._say_of_tasks("remove")

    async def _say_of_tasks(self, verb: str, *more: object) -> None:
        runs = list(self.world.ledger.runs)
        if not runs:
            return
        tasks = self.world.ledger.of_run(self.rng.choice(runs[-MOST_OPEN_RUNS:]))
        # Anything of the latest runs, but mostly what somebody is at work on.
        weights = [8 if task.state in AT_WORK else 1 for task in tasks]
        chosen = {task.id for task in self.rng.choices(tasks, weights, k=self.rng.randint(1, 3))}
        await self.world.say(verb, self.name, self.world.patience(), tuple(sorted(chosen)), *more)

    async def look(self) -> None:
        """See runs that are not over, and their epochs."""
        self.screen = {run.id: run.epoch for run in self.world.ledger.runs.values() if run.state not in FINISHED_RUN}

    async def mark_run(self) -> None:
        """First its tasks, then the run: but somebody may come in between, and the screen may be old."""
        if not self.screen:
            return
        run = self.rng.choice(list(self.screen))
        unfinished = tuple(task.id for task in self.world.ledger.of_run(run) if task.state not in MARKS)
        if unfinished and self.rng.random() < 0.7:
            await self.world.say(
                "mark", self.name, self.world.patience(), unfinished, TaskState.SUCCESS, "the run is done"
            )
            if self.rng.random() < 0.5:
                await self.look()
        picture = Picture(run, self.screen.get(run, 0))
        await self.world.say("mark_run", self.name, (picture,), self.rng.choice(FINISHED), "known better")

    async def look_at_waits(self) -> None:
        """See what tasks wait for."""
        tasks = self.world.ledger.tasks.values()
        self.waits = [SeenWait(task.id, task.wait) for task in tasks if task.wait is not None]

    async def steer(self) -> None:
        """Say something about waits that are on the screen; they may be over, or have become others."""
        if not self.waits or self.rng.random() < 0.6:
            await self.look_at_waits()
        if not self.waits:
            return
        chosen = {wait.id: wait for wait in self.rng.choices(self.waits, k=self.rng.randint(1, 3))}
        waits, patience = tuple(chosen[id] for id in sorted(chosen)), self.world.patience()
        match self.rng.choice(("fire_by_hand", "fail_by_hand", "cancel", "extend", "extend")):
            case "fire_by_hand":
                event = self.rng.choice((None, '{"by": "hand"}'))
                await self.world.say("fire_by_hand", self.name, waits, event, "it has come")
            case "fail_by_hand":
                await self.world.say("fail_by_hand", self.name, patience, waits, '{"error": "no use"}', "no use")
            case "cancel":
                await self.world.say("cancel", self.name, patience, waits, self.rng.choice(MARKS), "enough")
            case "extend":
                until = self.world.ledger.now + timedelta(seconds=self.rng.uniform(-30, 900))
                later = tuple(ExtendedWait(wait.id, wait.trigger_id, until) for wait in waits)
                await self.world.say("extend", self.name, later, "give it time")

    async def stray(self) -> None:
        await self.world.stray_wait(kept=self.rng.random() < 0.3)

    async def publish(self) -> None:
        """Save a DAG's file with a change."""
        dag = self.rng.choice(list(SHAPES))
        if self.world.versions[self.world.latest[dag]] is SHAPES[dag]:
            await self.world.publish(dag, SHAPES[dag].grown)
