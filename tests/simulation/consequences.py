"""What a simulated scheduler makes of what has changed: it looks where `look` tells it to, and nowhere else."""

from collections.abc import Collection, Sequence
from typing import Any

from bide.model.run_outcome import run_outcome
from bide.model.states import UNFINISHED, RunState, TaskState
from bide.model.trigger_rules import Upstream, Verdict, judge
from bide.store import looks
from bide.store.looks import Look, OpenRun
from bide.store.runs import Concluded, Expansion, Unstarted
from tests.simulation.actors import MANY, Actor
from tests.simulation.shapes import Shape, number_of

MOST_LOOKS = 20
SPEAKS = {Verdict.SKIP: "skip_unstarted", Verdict.UPSTREAM_FAILED: "block"}
# These need not be heard: what stands against them leaves a new look, or a date.
MAY_BE_REFUSED = {"stop", "conclude"}


class Consequences:
    """Decisions about one run at a time, on a picture that may be old when they are said."""

    def __init__(self, actor: Actor) -> None:
        self._actor, self._world, self._rng = actor, actor.world, actor.world.rng
        self.decisions: list[tuple[str, tuple[Any, ...], int]] = []
        self._seen: list[int] = []
        self._all_heard = True

    async def look(self) -> None:
        """Look at one of the runs in which something has changed, and decide; it is said later."""
        if found := await looks.looks(self._world.db, 1, 0, MANY):
            await self._look_at(found, self._rng.choice(sorted({look.dag_run_id for look in found})))

    async def follow_all(self) -> None:
        """Look, decide and speak, until there is nothing to look at."""
        for _ in range(MOST_LOOKS):
            found = await looks.looks(self._world.db, 1, 0, MANY)
            for run in sorted({look.dag_run_id for look in found}):
                await self._look_at(found, run)
                while self._seen:
                    await self.speak()

    async def speak(self) -> None:
        """Say one decision. Once all were heard nobody has to look there again, else it stays to be looked at."""
        if self.decisions:
            verb, args, number = self.decisions.pop(0)
            answer = await self._world.say(verb, self._actor.who, *args)
            # Those that have come to be by `expand` are looked at next time.
            heard = verb != "expand" and (verb in MAY_BE_REFUSED or len(answer or ()) == number)
            self._all_heard &= answer is not None and heard
        if self._seen and not self.decisions:
            if self._all_heard and not self._world.chance(0.1):
                await looks.looked_at(self._world.db, self._seen)
            self._seen = []

    async def _look_at(self, found: Sequence[Look], run_id: int) -> None:
        here = [look for look in found if look.dag_run_id == run_id]
        self.decisions, self._seen, self._all_heard = [], [look.id for look in here], True
        for run in await looks.open_runs(self._world.db, [run_id]):
            await self._decide(run, {look.task_id for look in here})

    async def _decide(self, run: OpenRun, changed: Collection[str | None]) -> None:
        rows = await self._world.hand.fetch(
            "select id, task_id, map_index, state, is_leaf, worker_id is not null as held, start_date is null as fresh "
            "from task_instance where dag_run_id = $1 order by id",
            run.id,
        )
        shape = self._world.shape(run.id)
        said: dict[str, list[Unstarted | Expansion]] = {}
        for verb, row in _verdicts(shape, run, rows, changed):
            said.setdefault(verb, []).append(_item(verb, row, run))
        self.decisions = [(verb, (self._actor.some(items),), len(items)) for verb, items in said.items()]
        unfinished = tuple(Unstarted(row["id"], run.epoch) for row in rows if row["state"] in UNFINISHED)
        if shape.plan.fail_fast and unfinished and any(row["state"] == "failed" for row in rows):
            self.decisions.append(("stop", (self._world.patience(), unfinished, "run_failed"), len(unfinished)))
        outcome = run_outcome((TaskState(row["state"]), row["is_leaf"]) for row in rows)
        if outcome is None and self._world.chance(0.05):
            outcome = RunState.SUCCESS  # it lies
        if outcome is not None:
            self.decisions.append(("conclude", ((Concluded(run.id, run.epoch, outcome),),), 1))


def _item(verb: str, row: Any, run: OpenRun) -> Unstarted | Expansion:
    number = number_of(run.id, run.epoch)
    return Expansion(row["id"], run.epoch, number) if verb == "expand" else Unstarted(row["id"], run.epoch)


def _verdicts(
    shape: Shape, run: OpenRun, rows: Sequence[Any], changed: Collection[str | None]
) -> Sequence[tuple[str, Any]]:
    """What is to be said of the tasks that have changed, and of those right after them; of all if the run has."""
    states: dict[str, list[TaskState]] = {}
    for row in rows:
        states.setdefault(row["task_id"], []).append(TaskState(row["state"]))
    not_taken = {shape.after[task][run.id % 2] for task in shape.branches if states[task] == [TaskState.SUCCESS]}
    concerned = set(shape.tasks) if None in changed else set(changed)
    concerned |= {after for task in changed if task is not None for after in shape.after[task]}
    verdicts = [
        (_verdict(shape.tasks[row["task_id"]], row, states, row["task_id"] in not_taken), row)
        for row in rows
        if row["task_id"] in concerned
    ]
    return [(verb, row) for verb, row in verdicts if verb is not None]


def _verdict(task: Any, row: Any, states: dict[str, list[TaskState]], not_taken: bool) -> str | None:
    unstarted = row["state"] in ("none", "restarting")
    if not unstarted and not (row["state"] == "scheduled" and row["fresh"]):
        return None
    if not_taken:
        return "skip_unstarted"
    verdict = judge(task.trigger_rule, Upstream.of(state for name in task.upstream for state in states[name]))
    if verdict is Verdict.READY and unstarted and not row["held"]:
        stands_for_all = task.mapped is not None and row["map_index"] < 0
        return "expand" if stands_for_all else "pass_empty" if task.is_empty else "ready"
    return SPEAKS.get(verdict)
