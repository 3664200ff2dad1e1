"""What has changed, and what follows from it: tasks that may run, that never will, and runs that are over.

Each change left a row in `look`. The rows are read, their consequences are committed, and only then the rows go: a
scheduler that dies in between is followed by one that finds them again, and then most verbs are refused because they
were said already.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import timedelta

import msgspec

from bide.model.plan import SKIPS_KEY, TaskPlan
from bide.model.run_outcome import run_outcome
from bide.model.states import TaskState
from bide.scheduler.judging import Picture, Standing, Verdicts, judged
from bide.scheduler.mapping import expand
from bide.scheduler.plans import Plans, Version
from bide.store import looks, people, runs
from bide.store.database import Database
from bide.store.looks import DatedTask, Look, OpenRun, TaskOfRun
from bide.store.runs import Concluded, Unstarted

FAILURES = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED})
GLANCE = 10
"""So many unfinished tasks of each state are looked at before it is asked about a whole crowd."""


@dataclass
class Scene:
    """A running run with its version, which of its tasks have changed, and which must be judged because of that."""

    run: OpenRun
    version: Version
    whole: bool = False
    changed: set[str] = field(default_factory=set)
    judge: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)

    def task(self, task_id: str) -> TaskOfRun:
        return TaskOfRun(self.run.id, self.run.dag_id, self.run.run_id, task_id)

    def plans(self, task_ids: Iterable[str]) -> list[TaskPlan]:
        """The plans of those that are in the DAG, in its order where that matters to nobody but readers."""
        return [self.version.tasks[id] for id in task_ids if id in self.version.tasks]


class Consequences:
    """Follows what has changed."""

    def __init__(self, db: Database, plans: Plans, who: str, kill_patience: timedelta, limit: int) -> None:
        self._db, self._plans, self._who = db, plans, who
        self._kill_patience, self._limit = kill_patience, limit

    async def follow(self, shares: int, share: int) -> int:
        """Follow one batch of changes, and tell how many there were."""
        found = await looks.looks(self._db, shares, share, self._limit)
        if not found:
            return 0
        scenes = await self._scenes(found)
        if scenes:
            await self._add_those_after(scenes)
            await self._read_skip_lists(scenes)
            if not (await self._say_verdicts(scenes) and await self._end_runs(scenes)):
                # Somebody came in between. What has changed stays to be looked at, on the latest picture.
                return len(found)
        await looks.looked_at(self._db, [look.id for look in found])
        return len(found)

    async def _scenes(self, found: Sequence[Look]) -> list[Scene]:
        open_runs = await looks.open_runs(self._db, sorted({look.dag_run_id for look in found}))
        numbered = [(run, run.dag_version_id) for run in open_runs if run.dag_version_id is not None]
        versions = await self._plans.of([number for _, number in numbered])
        scenes = {run.id: Scene(run, versions[number]) for run, number in numbered if number in versions}
        for look in found:
            scene = scenes.get(look.dag_run_id)
            if scene is None:
                continue
            if look.task_id is None:
                scene.whole = True
            else:
                scene.changed.add(look.task_id)
        return list(scenes.values())

    async def _add_those_after(self, scenes: Sequence[Scene]) -> None:
        for scene in scenes:
            after = scene.version.after
            scene.judge = (
                set(scene.version.tasks)
                if scene.whole
                else scene.changed | {next_id for id in scene.changed for next_id in after.get(id, ())}
            )
        await self._wake_next_runs([scene for scene in scenes if not scene.whole])

    async def _wake_next_runs(self, scenes: Sequence[Scene]) -> None:
        """A task that looks back may go on when that of the run before has ended: its run has to be looked at too."""
        awaiting = {scene.run.id: _looking_back(scene) for scene in scenes}
        followed = [scene.run for scene in scenes if awaiting[scene.run.id]]
        if followed:
            following = await looks.next_runs(self._db, followed)
            pairs = [(next_id, task) for run_id, next_id in following.items() for task in sorted(awaiting[run_id])]
            await looks.look_at(self._db, [run for run, _ in pairs], [task for _, task in pairs])

    async def _read_skip_lists(self, scenes: Sequence[Scene]) -> None:
        """Branching tasks that have just ended leave out even distant tasks; others only those right after them."""
        asked = [
            scene.task(task_id)
            for scene in scenes
            for task_id in scene.version.branching
            if task_id in scene.changed or not scene.judge.isdisjoint(scene.version.after[task_id])
        ]
        if not asked:
            return
        texts = await looks.skip_lists(self._db, asked, SKIPS_KEY)
        by_run = {scene.run.id: scene for scene in scenes}
        for (run_id, task_id), text in texts.items():
            scene = by_run[run_id]
            left_out = set(msgspec.json.decode(text, type=list[str]))
            if task_id in scene.changed:
                scene.judge |= left_out & scene.version.tasks.keys()
                scene.left_out |= left_out
            else:
                scene.left_out |= left_out & set(scene.version.after.get(task_id, ()))

    async def _say_verdicts(self, scenes: Sequence[Scene]) -> bool:
        """Say what follows for tasks; false if not all of it was accepted."""
        pictures = await self._pictures(scenes)
        total = Verdicts()
        epochs: dict[int, int] = {}
        expanded = True
        for scene in scenes:
            picture = pictures[scene.run.id]
            verdicts = judged(scene.plans(scene.judge), scene.version.tasks, picture)
            if verdicts.expand:
                expanded &= await expand(self._db, self._who, scene.run, scene.version, picture, verdicts)
            for name in ("ready", "pass_empty", "skip", "block"):
                ids = getattr(verdicts, name)
                getattr(total, name).extend(ids)
                epochs.update(dict.fromkeys(ids, scene.run.epoch))
        said = (
            (runs.skip_unstarted, total.skip),
            (runs.block, total.block),
            (runs.pass_empty, total.pass_empty),
            (runs.ready, total.ready),
        )
        accepted = [
            await verb(self._db, self._who, [Unstarted(id, epochs[id]) for id in sorted(ids)]) for verb, ids in said
        ]
        return expanded and sum(map(len, accepted)) == sum(len(ids) for _, ids in said)

    async def _pictures(self, scenes: Sequence[Scene]) -> Mapping[int, Picture]:
        crowded = await self._crowded(scenes)
        seen = [
            scene.task(id)
            for scene in scenes
            for id in scene.judge
            | scene.changed
            | {up for task in scene.plans(scene.judge - crowded[scene.run.id].keys()) for up in task.upstream}
        ]
        standings: dict[int, dict[str, Standing]] = defaultdict(lambda: defaultdict(Standing))
        for tally in await looks.tallies(self._db, seen):
            standing = standings[tally.dag_run_id][tally.task_id]
            standing.states[tally.state] += tally.number
            standing.waiting.update(zip(tally.ids, tally.map_indexes, strict=True))
        past = await self._past(scenes)
        return {
            scene.run.id: Picture(
                standings[scene.run.id],
                scene.left_out,
                crowded[scene.run.id],
                {id: states for (run_id, id), states in past.items() if run_id == scene.run.id},
            )
            for scene in scenes
        }

    async def _crowded(self, scenes: Sequence[Scene]) -> Mapping[int, Mapping[str, Set[str]]]:
        """Find tasks with very many before them of which some are unfinished: the many need not be counted then."""
        asked = {
            scene.run.id: {id: before for id, before in scene.version.crowds.items() if id in scene.judge}
            for scene in scenes
            if not scene.whole
        }
        crowded: dict[int, dict[str, Set[str]]] = defaultdict(dict)
        runs_with_crowds = [run_id for run_id, crowds in asked.items() if crowds]
        if not runs_with_crowds:
            return crowded
        seen = await looks.some_unfinished(self._db, runs_with_crowds, GLANCE)
        for run_id in runs_with_crowds:
            for task_id, before in asked[run_id].items():
                is_crowded = not before.isdisjoint(seen[run_id].task_ids)
                # To send the names of thousands and have them looked up is the long way.
                if not (is_crowded or seen[run_id].is_all):
                    is_crowded = await looks.is_unfinished(self._db, run_id, list(before))
                if is_crowded:
                    crowded[run_id][task_id] = before
        return crowded

    async def _past(self, scenes: Sequence[Scene]) -> Mapping[tuple[int, str], set[TaskState]]:
        """What the tasks that look back see: themselves in the run before, and perhaps those after them."""
        looking: dict[tuple[int, str], set[str]] = {}
        asked = []
        for scene in scenes:
            if scene.run.logical_date is None:
                continue
            for task in scene.plans(scene.judge):
                if not (task.depends_on_past or task.wait_for_downstream):
                    continue
                at = {task.task_id}
                if task.wait_for_downstream:
                    at |= set(scene.version.after[task.task_id])
                looking[scene.run.id, task.task_id] = at
                asked += [DatedTask(scene.run.id, scene.run.dag_id, scene.run.logical_date, id) for id in sorted(at)]
        if not asked:
            return {}
        found = await looks.past(self._db, asked)
        return {
            (run_id, task_id): {state for id in at for state in found.get((run_id, id), ())}
            for (run_id, task_id), at in looking.items()
        }

    async def _end_runs(self, scenes: Sequence[Scene]) -> bool:
        """Stop what a failure stops, and end runs that are done; false if something has still to be stopped."""
        if not await self._fail_fast([scene for scene in scenes if scene.version.plan.fail_fast]):
            return False
        endings: dict[tuple[int, int], list[tuple[TaskState, bool]]] = defaultdict(list)
        for ending in await looks.done_runs(self._db, [scene.run.id for scene in scenes]):
            endings[ending.id, ending.epoch] += [(ending.state, bool(ending.is_leaf))] if ending.state else []
        ended = [(run, run_outcome(tasks)) for run, tasks in endings.items()]
        await runs.conclude(
            self._db, self._who, [Concluded(*run, outcome) for run, outcome in ended if outcome is not None]
        )
        return True

    async def _fail_fast(self, scenes: Sequence[Scene]) -> bool:
        if not scenes:
            return True
        changed = [scene.task(id) for scene in scenes for id in scene.changed]
        failed = {tally.dag_run_id for tally in await looks.tallies(self._db, changed) if tally.state in FAILURES}
        if not failed:
            return True
        rest = await looks.unfinished(self._db, sorted(failed), self._limit)
        stopped = await people.stop(self._db, self._who, self._kill_patience, rest, "run_failed")
        return len(stopped) == len(rest) < self._limit


def _looking_back(scene: Scene) -> set[str]:
    """Find the tasks of the next run that may have waited for what has changed in this one."""
    changed = scene.plans(scene.changed)
    themselves = {task.task_id for task in changed if task.depends_on_past or task.wait_for_downstream}
    before = {id for task in changed for id in task.upstream}
    return themselves | {task.task_id for task in scene.plans(before) if task.wait_for_downstream}
