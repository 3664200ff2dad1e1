"""Who may be queued: slots of pools, and limits of DAGs, tasks and runs. Pure.

The candidates come in the order in which they shall go. One for which its pool has no slots now closes the pool for
those behind it: a large task would otherwise wait for as long as there are small ones. One that meets a limit of its
own run or task only steps aside, and its kind is named, so that the next look goes past all of them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bide.store.views import Busy, Candidate, PoolRoom


@dataclass
class Room:
    """What is free. Whoever is admitted takes of it."""

    slots: dict[str, int]
    sizes: dict[str, int]
    in_run: Counter[int] = field(default_factory=Counter)
    of_task: Counter[tuple[str, str]] = field(default_factory=Counter)
    of_task_in_run: Counter[tuple[int, str]] = field(default_factory=Counter)
    # What later looks need not bring any more.
    full_runs: set[int] = field(default_factory=set)
    full_tasks: set[tuple[str, str]] = field(default_factory=set)
    full_in_run: set[tuple[int, str]] = field(default_factory=set)

    @classmethod
    def of(cls, pools: Iterable[PoolRoom], busy: Iterable[Busy]) -> "Room":
        """Count what is free from what takes room."""
        pools = list(pools)
        room = cls({pool.name: pool.free for pool in pools}, {pool.name: pool.slots for pool in pools})
        for row in busy:
            room._count(row.dag_id, row.dag_run_id, row.task_id, row.number)
        return room

    @property
    def open_pools(self) -> list[str]:
        """The pools in which there is room."""
        return [name for name, slots in self.slots.items() if slots > 0]

    @property
    def most_free(self) -> int:
        """How many slots there are in the pool that has most of them."""
        return max(0, max(self.slots.values(), default=0))

    def admit(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Choose those that may go on."""
        return [one for one in candidates if self._admits(one)]

    def _admits(self, one: Candidate) -> bool:
        task, in_run = (one.dag_id, one.task_id), (one.dag_run_id, one.task_id)
        if self.in_run[one.dag_run_id] >= one.max_active_tasks:
            self.full_runs.add(one.dag_run_id)
        elif _reached(one.max_active_tis_per_dag, self.of_task[task]):
            self.full_tasks.add(task)
        elif _reached(one.max_active_tis_per_dagrun, self.of_task_in_run[in_run]):
            self.full_in_run.add(in_run)
        elif one.pool_slots > self.slots[one.pool]:
            if one.pool_slots <= self.sizes[one.pool]:
                self.slots[one.pool] = 0
        else:
            self.slots[one.pool] -= one.pool_slots
            self._count(one.dag_id, one.dag_run_id, one.task_id, 1)
            return True
        return False

    def _count(self, dag_id: str, dag_run_id: int, task_id: str, number: int) -> None:
        self.in_run[dag_run_id] += number
        self.of_task[dag_id, task_id] += number
        self.of_task_in_run[dag_run_id, task_id] += number


def _reached(limit: int | None, number: int) -> bool:
    return limit is not None and number >= limit
