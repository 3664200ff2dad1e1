"""One leg on this worker, from the moment it was started until everything about it is said."""

import asyncio
from abc import ABC, abstractmethod
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bide.hosting.logs import LegLog
from bide.model.messages import RunCallback, RunFacts, RunLeg
from bide.model.outcome import Failed, Outcome, Skipped
from bide.model.retry import RetryPolicy
from bide.model.timetable import Interval
from bide.process.masking import Masker
from bide.store.legs import Started
from bide.store.records import NewRecord
from bide.store.rows import Leg as LegKey

if TYPE_CHECKING:
    from bide.worker.child import Child
    from bide.worker.warm import WarmProcess


class Work(ABC):
    """Something that a child does for a try: a leg of it, or a call after it."""

    key: LegKey | None

    def __init__(self, started: Started, log_limit_kb: int, logged: int) -> None:
        """`logged` is the number of bytes that was written for its try before."""
        self.started = started
        self.masker = Masker()
        self.log = LegLog(started.id, started.try_number, started.leg, log_limit_kb, self.masker, logged)
        self.warm: WarmProcess | None = None
        self.child: Child | None = None
        self.timers: list[asyncio.TimerHandle] = []

    @abstractmethod
    def order(self) -> RunLeg | RunCallback:
        """Say to a child what is to be done."""

    @property
    def who(self) -> str:
        """What the history calls the task where its code does something."""
        return f"task {self.started.dag_id}.{self.started.task_id}"

    @property
    def logical_date(self) -> datetime | None:
        """The date that its run stands for."""
        return self.started.logical_date

    @property
    def data_interval(self) -> Interval | None:
        """What its run is about."""
        start, end = self.started.data_interval_start, self.started.data_interval_end
        return None if start is None or end is None else Interval(start, end)

    def forget_timers(self) -> None:
        """Nobody has to look after it any more."""
        for timer in self.timers:
            timer.cancel()
        self.timers.clear()

    def its_leg(self) -> RunLeg:
        """Say to a child what it is about."""
        given = self.started
        return RunLeg(
            id=given.id,
            leg=given.leg,
            task_id=given.task_id,
            map_index=given.map_index,
            try_number=given.try_number,
            max_tries=given.max_tries,
            run=run_facts(given),
            now=given.now,
            next_method=given.next_method,
            next_kwargs=given.next_kwargs,
            try_time_left=_not_negative(given.try_time_left),
            sensor_time_left=_not_negative(given.sensor_time_left),
        )


class Leg(Work):
    """A leg that was started here. It has a slot since `began_at`; `stopping` says why it was taken away, if it was."""

    key: LegKey

    def __init__(self, started: Started, policy: RetryPolicy, log_limit_kb: int, logged: int = 0) -> None:
        """`logged` is the number of bytes that earlier legs of its try have written."""
        super().__init__(started, log_limit_kb, logged)
        self.key = LegKey(started.id, started.leg)
        self.policy = policy
        self.stopping: str | None = None
        self.began_at: float | None = None

    def order(self) -> RunLeg:
        """Say to a child what is to be run."""
        return self.its_leg()

    def masked(self, outcome: Outcome) -> Outcome:
        """Return the outcome as it may be stored: what the task says to people without its secrets."""
        if isinstance(outcome, Failed):
            return Failed(self.masker(outcome.error), self.masker(outcome.traceback), outcome.retryable)
        if isinstance(outcome, Skipped):
            return Skipped(self.masker(outcome.reason))
        return outcome

    def record(self, pid: int | None, exit: str | None, peak_memory_kb: int | None, cpu_sec: float | None) -> NewRecord:
        """Say how its process ended and what it used."""
        return NewRecord(
            task_instance_id=self.started.id,
            leg=self.started.leg,
            try_number=self.started.try_number,
            pid=pid,
            started_at=self.started.now,
            exit=exit,
            peak_memory_kb=peak_memory_kb,
            cpu_sec=cpu_sec,
        )


def run_facts(given: Started) -> RunFacts:
    """Say what the run of a leg is."""
    return RunFacts(
        dag_id=given.dag_id,
        run_id=given.run_id,
        run_type=given.run_type,
        logical_date=given.logical_date,
        data_interval_start=given.data_interval_start,
        data_interval_end=given.data_interval_end,
        start_date=given.run_start_date,
        conf=given.conf,
    )


def _not_negative(left: timedelta | None) -> timedelta | None:
    return None if left is None else max(left, timedelta(0))
