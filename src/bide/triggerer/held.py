"""One wait that is held here, from its claim until everything about it is said."""

from datetime import datetime
from sys import intern
from typing import TYPE_CHECKING

from bide.hosting.logs import LegLog
from bide.model.timetable import Interval
from bide.model.trigger_messages import RunTrigger, TaskFacts
from bide.process.masking import Masker
from bide.store.holding import Claim, Facts
from bide.store.rows import Leg

if TYPE_CHECKING:
    from bide.triggerer.runner import Runner


class Held:
    """A wait with its opened arguments. It has a `runner` while one runs its trigger, under `number`.

    `strikes` counts how often it has held up an event loop or ended its process, and `evidence` says how.
    """

    __slots__ = (
        "_masker",
        "claim",
        "classpath",
        "evidence",
        "has_on_kill",
        "id",
        "kwargs",
        "log",
        "number",
        "runner",
        "strikes",
        "task",
        "version_id",
        "was_parked",
    )

    def __init__(
        self, claim: Claim, classpath: str, kwargs: str, version_id: int | None, facts: Facts, *, has_on_kill: bool
    ) -> None:
        """`kwargs` are opened."""
        self.id = claim.id
        self.claim = claim
        self.classpath = intern(classpath)
        self.kwargs = kwargs
        self.version_id = version_id
        self.has_on_kill = has_on_kill
        self.was_parked = False
        self.task = task_facts(facts)
        self.number = 0
        self.runner: Runner | None = None
        self.strikes = 0
        self.evidence: list[str] = []
        self.log: LegLog | None = None
        self._masker: Masker | None = None

    def order(self) -> RunTrigger:
        """Say to a runner what is to be run."""
        return RunTrigger(number=self.number, id=self.id, classpath=self.classpath, kwargs=self.kwargs, task=self.task)

    # What answers want to know of who asks.

    @property
    def key(self) -> Leg | None:
        """A trigger leaves XComs with its event only."""
        return None

    @property
    def who(self) -> str:
        """What the history calls it where its code does something."""
        return f"trigger {self.id}" if self.task is None else f"trigger of task {self.task.dag_id}.{self.task.task_id}"

    @property
    def masker(self) -> Masker:
        """What keeps secrets out of its log. Few triggers need one."""
        if self._masker is None:
            self._masker = Masker()
        return self._masker

    @property
    def logical_date(self) -> datetime | None:
        """The date that its run stands for."""
        return None if self.task is None else self.task.logical_date

    @property
    def data_interval(self) -> Interval | None:
        """What its run is about."""
        if self.task is None or self.task.data_interval_start is None or self.task.data_interval_end is None:
            return None
        return Interval(self.task.data_interval_start, self.task.data_interval_end)


def task_facts(facts: Facts) -> TaskFacts | None:
    """Word what a trigger may know of its task."""
    if facts.task_instance_id is None:
        return None
    return TaskFacts(
        id=facts.task_instance_id,
        # Thousands of waits are those of the same few DAGs and runs.
        dag_id=intern(facts.dag_id or ""),
        run_id=intern(facts.run_id or ""),
        task_id=intern(facts.task_id or ""),
        map_index=-1 if facts.map_index is None else facts.map_index,
        try_number=facts.try_number or 0,
        leg=facts.leg or 0,
        logical_date=facts.logical_date,
        data_interval_start=facts.data_interval_start,
        data_interval_end=facts.data_interval_end,
    )
