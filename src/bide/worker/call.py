"""The calls that a worker makes for authors who want to be called after a try or a run.

They need no slot, so that a word about a failure does not wait for what runs. A few of them are made at the same time,
each in a child of its own, for a limited time. What was not said about one in time is taken up by others.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

from bide.hosting.logs import LogWriter
from bide.model.messages import RunCallback
from bide.model.outcome import Failed, Outcome
from bide.store import callbacks
from bide.store.callbacks import Call as CallKey
from bide.store.callbacks import EndedCall, Taken
from bide.store.database import Database
from bide.worker.leg import Work
from bide.worker.warm import WarmProcess

MOST_AT_ONCE = 4
SPARE_SEC = 30.0
"""For storing what came of it; then others take it up."""


class Call(Work):
    """One call, from the moment it was taken up until what came of it is stored."""

    key = None

    def __init__(self, taken: Taken, within: timedelta, log_limit_kb: int, logged: int = 0) -> None:
        super().__init__(taken.started, log_limit_kb, logged)
        self.taken, self.within = taken, within
        self.error: str | None = None

    def order(self) -> RunCallback:
        """Say to a child what is to be called."""
        taken = self.taken
        return RunCallback(
            kind=taken.kind, leg=self.its_leg(), of_run=taken.of_run, reason=taken.reason, time_left=self.within
        )


class Calls:
    """The calls of a worker."""

    def __init__(
        self, db: Database, logs: LogWriter, within_sec: float, spare_sec: float, one_left: Callable[[], None]
    ) -> None:
        """`spare_sec` is for importing a DAG file, and for an end in order; `one_left` is called when one is over."""
        self.within = timedelta(seconds=within_sec)
        self.heard_within = timedelta(seconds=within_sec + spare_sec + SPARE_SEC)
        self._db, self._logs = db, logs
        self._late_sec = within_sec + spare_sec
        self._one_left = one_left
        self._made: dict[CallKey, Call] = {}
        self._over: list[Call] = []
        self._loop = asyncio.get_running_loop()

    @property
    def room(self) -> int:
        """How many more may be taken up now."""
        return MOST_AT_ONCE - len(self._made) - len(self._over)

    def making(self) -> Sequence[Call]:
        """List those that are being made."""
        return list(self._made.values())

    def make(self, call: Call, warm: WarmProcess) -> None:
        """Let a child make a call."""
        self._made[call.taken.call] = call
        call.timers.append(self._loop.call_later(self._late_sec, self._too_late, call))
        warm.run(call)

    def refuse(self, call: Call, error: str) -> None:
        """It cannot be made here, nor anywhere else."""
        self._made[call.taken.call] = call
        call.log.note(error)
        self.over(call, error)

    def ended(self, call: Call, outcome: Outcome) -> None:
        """Its child has come to the end of it."""
        self.over(call, outcome.error if isinstance(outcome, Failed) else None)

    def over(self, call: Call, error: str | None) -> None:
        """It was made, or cannot be."""
        call.forget_timers()
        call.child = call.warm = None
        if self._made.pop(call.taken.call, None) is None:
            return
        call.error = None if error is None else call.masker(error)
        call.log.end()
        self._over.append(call)
        self._one_left()

    async def say(self, who: str) -> None:
        """Store what came of those that are over. What fails stays."""
        batch = list(self._over)
        if not batch:
            return
        await self._logs.store([call.log for call in batch])
        await callbacks.end_callback(self._db, who, list(_said(batch)))
        del self._over[: len(batch)]

    def forget(self) -> None:
        """Say nothing about any of them any more: others will make them."""
        for call in self._made.values():
            call.forget_timers()
        self._made.clear()
        self._over.clear()

    def _too_late(self, call: Call) -> None:
        if call.child is not None:
            call.child.why_killed = "it took longer than worker.callback_timeout_sec and did not end by itself"
            call.child.warm.kill(call.child)


def _said(calls: Iterable[Call]) -> Iterable[EndedCall]:
    for call in calls:
        yield EndedCall(call.taken.call.id, call.taken.call.claim, call.error)
