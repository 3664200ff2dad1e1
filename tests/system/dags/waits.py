"""A DAG whose tasks defer: by events, one to five times, by timers, timeouts, failures and ends without a worker."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

from noting import AGAIN, note  # type: ignore[import-not-found]  # the folder of DAG files is on the path of children

from bide import (
    DAG,
    BaseOperator,
    BaseTrigger,
    Context,
    TaskSkippedEvent,
    TaskSuccessEvent,
    Timer,
    TriggerEvent,
)
from bide.exceptions import TaskFailed

SHORT_SEC = 0.2
LONG_SEC = 3600
MOST_HOPS = 5


class Pause(BaseTrigger):
    """Waits a while, and says what it was given."""

    def __init__(self, seconds: float, word: Any) -> None:
        super().__init__()
        self.seconds, self.word = seconds, word

    async def run(self) -> AsyncIterator[TriggerEvent]:
        await asyncio.sleep(self.seconds)
        yield TriggerEvent(self.word)

    async def on_kill(self, reason: str) -> None:
        await asyncio.sleep(0)


class Shared(Pause):
    """One wait for all that wait for the same."""

    shared = True


class Breaks(Pause):
    """Raises when the while is over."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        await asyncio.sleep(self.seconds)
        if self.word:
            raise RuntimeError("not this time")
        yield TriggerEvent()


class Ends(Pause):
    """Ends its task when the while is over."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        await asyncio.sleep(self.seconds)
        yield TaskSkippedEvent(reason=self.word) if self.word else TaskSuccessEvent(xcoms={"return_value": 1})


class Alarm(Pause):
    """Is nothing but a date."""

    def timer(self) -> Timer:
        return Timer(timedelta(seconds=self.seconds), TriggerEvent(self.word))


class Hops(BaseOperator):
    """Defers so many times. Each time it goes on with the event of the wait that it was in, and no other."""

    def __init__(self, *, hops: int, kind: type[Pause] = Pause, **given: Any) -> None:
        super().__init__(**given)
        self.hops, self.kind = hops, kind

    def execute(self, context: Context) -> None:
        note("begin")
        self._wait(context, 1)

    def hop(self, context: Context, event: Any, hop: int) -> int:
        note(f"hop {hop}")
        if event != self._word(context, hop):
            note("wrong")
            raise TaskFailed(f"it went on with {event}")
        if hop < self.hops:
            self._wait(context, hop + 1)
        note("end")
        return hop

    def _wait(self, context: Context, hop: int) -> None:
        self.defer(
            trigger=self.kind(SHORT_SEC, self._word(context, hop)), method_name="hop", kwargs={"hop": hop}, timeout=None
        )

    def _word(self, context: Context, hop: int) -> Any:
        run_id = context["ti"].run_id
        return run_id if self.kind is Shared else [run_id, context["ti"].task_id, context["ti"].try_number, hop]


class OnceBad(BaseOperator):
    """Defers to a bad trigger in its first try, and to a good one afterwards."""

    def __init__(self, *, bad: type[Pause], seconds: float, timeout_sec: float, **given: Any) -> None:
        super().__init__(**given)
        self.bad, self.seconds, self.timeout_sec = bad, seconds, timeout_sec

    def execute(self, context: Context) -> None:
        note("begin")
        if context["ti"].try_number == 1:
            self.defer(
                trigger=self.bad(self.seconds, "bad"),
                method_name="go_on",
                timeout=timedelta(seconds=self.timeout_sec),
            )
        self.defer(trigger=Pause(SHORT_SEC, "good"), method_name="go_on")

    def go_on(self, context: Context, event: Any) -> None:
        note("end" if event == "good" else "wrong")


class GoesAway(BaseOperator):
    """Defers, and is ended by its trigger."""

    def __init__(self, *, why: str, **given: Any) -> None:
        super().__init__(**given)
        self.why = why

    def execute(self, context: Context) -> None:
        note("begin")
        self.defer(trigger=Ends(SHORT_SEC, self.why), method_name="execute")


with DAG("waiting", schedule=None, max_active_runs=6, default_args=AGAIN):
    last = GoesAway(task_id="last", why="", trigger_rule="none_failed")
    for number in range(1, MOST_HOPS + 1):
        Hops(task_id=f"hops_{number}", hops=number) >> last
    for number in range(3):
        Hops(task_id=f"shares_{number}", hops=1, kind=Shared) >> last
    Hops(task_id="alarm", hops=2, kind=Alarm) >> last
    OnceBad(task_id="breaks", bad=Breaks, seconds=SHORT_SEC, timeout_sec=LONG_SEC) >> last
    OnceBad(task_id="times_out", bad=Pause, seconds=LONG_SEC, timeout_sec=2 * SHORT_SEC) >> last
    GoesAway(task_id="skips", why="nothing to do") >> last
