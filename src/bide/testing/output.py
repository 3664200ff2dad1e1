"""What a leg writes while it runs in this process: it goes into its log, and to whoever looks on."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from bide.worker.leg import Work

Show = Callable[[str, str], object]
"""Is given a task and a line that it has written, without its secrets."""


def named(task_id: str, map_index: int) -> str:
    """Name an instance of a task."""
    return task_id if map_index < 0 else f"{task_id}[{map_index}]"


class Lines:
    """Takes in what a leg writes, and shows its whole lines."""

    def __init__(self, leg: Work, show: Show) -> None:
        self._name = named(leg.started.task_id, leg.started.map_index)
        self._mask, self._show = leg.masker, show
        self._begun = ""

    def take(self, text: str) -> None:
        """Take in a piece."""
        *whole, self._begun = (self._begun + text).split("\n")
        for line in whole:
            self._show(self._name, self._mask(line))

    def end(self) -> None:
        """Show what has no end."""
        if self._begun:
            self.take("\n")


class Taken(io.TextIOBase):
    """Stands for standard output or error: all else that one can ask of them is asked of the real one."""

    def __init__(self, real: Any, leg: Work, pass_on: Callable[[str], object] | None) -> None:
        super().__init__()
        self.real: Any = real.real if isinstance(real, Taken) else real
        self._leg = leg
        self._pass_on = pass_on or self.real.write

    def write(self, text: str) -> int:
        """Write."""
        self._leg.log.write(text.encode(errors="replace"))
        self._pass_on(text)
        return len(text)

    def flush(self) -> None:
        """Let go of what was kept back."""
        self.real.flush()

    def writable(self) -> bool:
        """It can be written to."""
        return True

    def isatty(self) -> bool:
        """Say what the real one says."""
        return bool(self.real.isatty())

    def fileno(self) -> int:
        """Give the number of the real one, for programs that are started."""
        return int(self.real.fileno())

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Name that of the real one."""
        return str(self.real.encoding)


@contextmanager
def taken_in(leg: Work, show: Show | None) -> Iterator[None]:
    """Let everything that is written meanwhile land in the log of a leg; it is shown, or else goes on its way."""
    before = sys.stdout, sys.stderr
    lines = None if show is None else Lines(leg, show)
    taken = [Taken(stream, leg, lines.take if lines else None) for stream in before]
    sys.stdout, sys.stderr = cast(Any, taken)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        if lines is not None:
            lines.end()
