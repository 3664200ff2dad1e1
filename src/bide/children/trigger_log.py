"""Where triggers write: each to the log of its own task, whichever of them it is that writes.

What is logged or printed goes to whom the code that does it runs for, also in its tasks and threads. What nobody is
known for goes to the runner's own output. Nobody may write so much that the others have to wait.
"""

import io
import logging
import os
from collections.abc import Callable

from bide.children.child import STDERR
from bide.children.log import LogLines
from bide.children.steps import OWNER

MOST_PER_TRIGGER = 65_536
MOST_IN_ALL = 1_048_576
"""Characters between two rounds of `emptied`, a quarter of a second or so."""


class TriggerLog:
    """Gathers what triggers write."""

    def __init__(self, wrote: Callable[[], None]) -> None:
        """`wrote` is called from any thread."""
        self._wrote = wrote
        self._texts: dict[int, list[str]] = {}
        self._sizes: dict[int, int] = {}
        self._left_out: dict[int, int] = {}
        self._size = 0

    def write(self, number: int, text: str) -> None:
        """Take in what a trigger has written, from whichever thread."""
        size = self._sizes.get(number, 0) + len(text)
        if size > MOST_PER_TRIGGER or self._size + len(text) > MOST_IN_ALL:
            self._left_out[number] = self._left_out.get(number, 0) + len(text)
            return
        self._sizes[number] = size
        self._size += len(text)
        self._texts.setdefault(number, []).append(text)
        self._wrote()

    def taken(self) -> list[tuple[int, str]]:
        """Return what was written, by trigger."""
        texts, self._texts = self._texts, {}
        return [(number, "".join(pieces)) for number, pieces in texts.items()]

    def round(self) -> list[tuple[int, str]]:
        """Begin to count anew, and say what was left out."""
        self._sizes.clear()
        self._size = 0
        left_out, self._left_out = self._left_out, {}
        return [
            (number, f"… {size:,} characters were left out: the trigger wrote too much at once …\n")
            for number, size in left_out.items()
        ]


class ToTriggerLog(logging.Handler):
    """Takes what is logged to the trigger's log."""

    def __init__(self, log: TriggerLog) -> None:
        super().__init__()
        self._log = log
        self.setFormatter(LogLines())

    def emit(self, record: logging.LogRecord) -> None:
        """Take in one record."""
        try:
            line = self.format(record) + "\n"
        except Exception:
            self.handleError(record)
            return
        owner = OWNER.get()
        if owner is None:
            os.write(STDERR, line.encode(errors="backslashreplace"))
        else:
            self._log.write(owner.number, line)


class Printed(io.TextIOWrapper):
    """Takes what is printed to the trigger's log, and what nobody is known for to the runner's own output."""

    def __init__(self, log: TriggerLog) -> None:
        super().__init__(
            io.BufferedWriter(io.FileIO(STDERR, "w", closefd=False)), "utf-8", "backslashreplace", write_through=True
        )
        self._log = log

    def write(self, text: str) -> int:
        """Take in a text."""
        owner = OWNER.get()
        if owner is None:
            return super().write(text)
        self._log.write(owner.number, text)
        return len(text)
