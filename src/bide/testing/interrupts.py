"""Ctrl-C while a leg runs in this process: for its task it is a failure like others, but it is meant for all of it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Notices whether somebody has interrupted a leg."""

    def __init__(self) -> None:
        self._happened = False

    @contextmanager
    def noticed(self) -> Iterator[None]:
        """Run a leg, and raise KeyboardInterrupt after it if it was interrupted."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        if self._happened:
            raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._happened = True
        signal.default_int_handler(number, frame)
