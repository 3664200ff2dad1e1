"""The versions whose code runs on a worker, read once: a version never changes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bide.errors import PlanError
from bide.model.plan import decode_plan
from bide.model.retry import RetryPolicy
from bide.store.children import Version, version_of
from bide.store.database import Database

MOST_KEPT = 1000


@dataclass(frozen=True)
class Known:
    """A version, and how its tasks are retried."""

    version: Version
    policies: Mapping[str, RetryPolicy]


class Versions:
    """The latest learnt ones."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._known: dict[int, Known] = {}

    def of(self, number: int | None) -> Known | None:
        """Give one that was learnt."""
        return None if number is None else self._known.get(number)

    async def learn(self, numbers: Iterable[int | None]) -> None:
        """Read those that are not known yet."""
        for number in {number for number in numbers if number is not None} - self._known.keys():
            version = await version_of(self._db, number)
            if version is None:
                continue
            try:
                plan = decode_plan(version.plan)
                policies = {task.task_id: task.retry for task in plan.tasks}
            except PlanError:
                # Its code runs all the same; it is only retried by what the row says.
                policies = {}
            while len(self._known) >= MOST_KEPT:
                del self._known[next(iter(self._known))]
            self._known[number] = Known(version, policies)
