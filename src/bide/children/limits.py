"""What ends a task from outside: its time is up, or somebody tells it to stop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType

from bide.exceptions import TaskTerminated, TaskTimeout

_AT_ONCE = 1e-6


def _time_is_up(number: int, frame: FrameType | None) -> None:
    raise TaskTimeout("The task has taken longer than its execution_timeout.")


def _told_to_stop(number: int, frame: FrameType | None) -> None:
    raise TaskTerminated("The task was told to stop.")


@contextmanager
def limited(time_left: timedelta | None) -> Iterator[None]:
    """Raise TaskTimeout in what is run meanwhile when its time is up, and TaskTerminated on SIGTERM.

    Signals reach the main thread only. Elsewhere nothing is limited here; the worker ends the process in time.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {
        signal.SIGALRM: signal.signal(signal.SIGALRM, _time_is_up),
        signal.SIGTERM: signal.signal(signal.SIGTERM, _told_to_stop),
    }
    try:
        if time_left is not None:
            signal.setitimer(signal.ITIMER_REAL, max(_AT_ONCE, time_left.total_seconds()))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
