"""An event loop in which nobody has to wait: when there is only to sleep, its clock jumps to the next alarm.

Real work goes on in real time: sockets, threads and processes are waited for, for `patience`; when nothing has come of
them by then, the clock moves on past them.
"""

import asyncio
import selectors
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from time import monotonic
from typing import Any

LOOK_EVERY_SEC = 0.02
"""How often it is looked whether threads that tell the loop nothing are still there."""
MOST_JUMPS = 200_000
RESOLUTION = 1e-5
"""Seconds since 1970 are told apart as finely as this."""


class NothingComes(Exception):
    """The clock was moved again and again, and nothing came of it."""


class JumpingLoop(asyncio.SelectorEventLoop):
    """Its clock stands still while something runs. It counts seconds since 1970, as those of the engine do."""

    def __init__(self, now: datetime, patience: float) -> None:
        self.patience = patience
        self.jumps = 0
        self._now = now.timestamp()
        self._alarms: weakref.WeakSet[asyncio.Future[Any]] = weakref.WeakSet()
        self._working = 0
        super().__init__(_Selector(self))
        self._clock_resolution = RESOLUTION
        self._own_files = len(self._files())
        self._own_threads = threading.active_count()

    def time(self) -> float:
        """Tell its clock's seconds."""
        return self._now

    @property
    def now(self) -> datetime:
        """What its clock says."""
        return datetime.fromtimestamp(self._now, UTC)

    def move_to(self, now: datetime) -> None:
        """Set its clock, which never goes back."""
        self._now = max(self._now, now.timestamp())
        self.jumps = 0

    def in_thread(self) -> bool:
        """Tell whether this is asked in the thread that it runs in."""
        return bool(self._thread_id == threading.get_ident())  # type: ignore[attr-defined]

    def jump(self, seconds: float) -> None:
        """Move its clock."""
        self._now += seconds
        self.jumps += 1
        if self.jumps > MOST_JUMPS:
            names = sorted(task.get_name() for task in asyncio.all_tasks(self))
            raise NothingComes(
                f"The clock was moved {MOST_JUMPS} times, to {self.now:%Y-%m-%d %H:%M:%S}, and nothing has come of it. "
                f"Still waiting: {', '.join(names[:5])}."
            )

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Call something later. A future among its arguments is one that this alarm will wake."""
        self._alarms.update(each for each in args if isinstance(each, asyncio.Future))
        return super().call_at(when, callback, *args, context=context)

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Have a thread do something."""
        future = super().run_in_executor(executor, func, *args)
        self._working += 1
        future.add_done_callback(self._has_worked)
        return future

    @contextmanager
    def real_work(self) -> Iterator[None]:
        """Let the clock stand still until something is done that the loop does not know of."""
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1

    def until_alarm(self) -> float:
        """Count the seconds to the next alarm."""
        alarms: Any = self._scheduled  # type: ignore[attr-defined]
        return alarms[0].when() - self._now if alarms else 0.0

    def sleepers_only(self) -> bool:
        """Tell whether all that any task of this loop waits for is an alarm, or another task."""
        return all(_waits_for(task) in self._alarms or _waits_for_tasks(task) for task in asyncio.all_tasks(self))

    def has_real_work(self) -> bool:
        """Tell whether something outside this loop may bring something about."""
        idle = getattr(getattr(self, "_default_executor", None), "_threads", ())
        return (
            self._working > 0
            or len(self._files()) > self._own_files
            or threading.active_count() > self._own_threads + len(idle)
        )

    def _has_worked(self, future: object) -> None:
        self._working -= 1

    def _files(self) -> Any:
        return self._selector.get_map()  # type: ignore[attr-defined]


class LoopClock:
    """The clock of a loop, as the code of a trigger waits by it."""

    def __init__(self, loop: JumpingLoop) -> None:
        self._loop = loop

    def now(self) -> float:
        """Return the seconds."""
        return self._loop.time()

    def utcnow(self) -> datetime:
        """Return the date."""
        return self._loop.now

    def rest(self, seconds: float) -> None:
        """Let some pass: for the others on the loop too, unless this is called in a thread."""
        if self._loop.in_thread():
            self._loop.jump(seconds)
        else:
            asyncio.run_coroutine_threadsafe(asyncio.sleep(seconds), self._loop).result()


class _Selector(selectors.DefaultSelector):
    """Waits for files as long as there is a reason to, and jumps otherwise."""

    def __init__(self, loop: JumpingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(0)
        if found or timeout == 0:
            return found
        if not self._loop.sleepers_only():
            found = self._look(monotonic() + self._loop.patience)
        if not found and timeout is not None:
            # It is not asked to wait for longer than a day at a time, even where the next alarm is later.
            self._loop.jump(max(timeout, self._loop.until_alarm()))
        return found

    def _look(self, until: float) -> Any:
        """Wait for files in real time, as long as something real is going on."""
        found: Any = []
        while not found and self._loop.has_real_work() and (left := until - monotonic()) > 0:
            found = super().select(min(left, LOOK_EVERY_SEC))
        return found


def _waits_for(task: asyncio.Task[Any]) -> Any:
    return getattr(task, "_fut_waiter", None)


def _waits_for_tasks(task: asyncio.Task[Any]) -> bool:
    waiter = _waits_for(task)
    return isinstance(waiter, asyncio.Task) or bool(getattr(waiter, "_children", ()))
