"""A PostgreSQL server of a test's own, which can be killed and comes back at the same address."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bide import embedded
from tests.conftest import FAST
from tests.process.alive import postmaster, processes_of
from tests.process.eventually import eventually_now

# What it has confirmed has to outlive its own death; nobody cuts the power of the machine.
KEEPS_ITS_WORD = {**FAST, "synchronous_commit": "on"}


class Power:
    """Switches the server of a folder on and off."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running = ExitStack()

    def on(self) -> str:
        """Start the server, and return its address."""
        return self._running.enter_context(embedded.running(self._folder, settings=KEEPS_ITS_WORD)).url

    def off(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End the server: SIGINT ends it in order, SIGQUIT at once."""
        os.kill(postmaster(self._folder), how)
        eventually_now(lambda: processes_of(self._folder) == [], 30)
        self._running.close()


@contextmanager
def power(folder: Path) -> Iterator[Power]:
    """A server that is off at the end."""
    switch = Power(folder)
    try:
        yield switch
    finally:
        if processes_of(folder):
            switch.off()
