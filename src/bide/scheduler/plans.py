"""The plans of versions, read once: a version never changes."""

from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from bide.model.graph import downstream
from bide.model.plan import DagPlan, TaskPlan, decode_plan
from bide.store import plans
from bide.store.database import Database

MOST_KEPT = 2000
CROWD = 100
"""So many tasks before another are not counted each time one of them ends."""


@dataclass(frozen=True)
class Version:
    """One version of a DAG, with what is looked up in it again and again."""

    id: int
    plan: DagPlan

    @cached_property
    def tasks(self) -> Mapping[str, TaskPlan]:
        return {task.task_id: task for task in self.plan.tasks}

    @cached_property
    def branching(self) -> list[str]:
        """The tasks that may leave others out."""
        return [task.task_id for task in self.plan.tasks if task.branches]

    @cached_property
    def crowds(self) -> Mapping[str, frozenset[str]]:
        """The tasks that have very many before them, with all of these."""
        return {task.task_id: frozenset(task.upstream) for task in self.plan.tasks if len(task.upstream) >= CROWD}

    @cached_property
    def after(self) -> Mapping[str, list[str]]:
        return downstream(self.plan)


class Plans:
    """The latest used versions."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._kept: OrderedDict[int, Version] = OrderedDict()

    async def of(self, ids: Collection[int]) -> Mapping[int, Version]:
        """Give versions by their numbers, reading those that are not at hand."""
        wanted = set(ids)
        missing = sorted(wanted - self._kept.keys())
        if missing:
            for id, text in (await plans.stored_plans(self._db, missing)).items():
                self._kept[id] = Version(id, decode_plan(text))
        for id in wanted & self._kept.keys():
            self._kept.move_to_end(id)
        found = {id: self._kept[id] for id in wanted & self._kept.keys()}
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return found
