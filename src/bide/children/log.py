"""The log of a task: lines on standard error, which the worker takes into the log of the try."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

LEVEL = logging.INFO


class LogLines(logging.Formatter):
    """Time, level and message; a message of several lines stays together."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return f"{time} {record.levelname:<8} {text}"


class _ToStandardError(logging.Handler):
    """Writes to whatever standard error is at the moment: a child gets its own after it was forked."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


# Made once: what is made in each child changes memory that is then copied for it.
_HANDLER = _ToStandardError()
_HANDLER.setFormatter(LogLines())
_TWICE = (logging.StreamHandler, _ToStandardError)
"""Whatever else writes to the terminal would write the same lines again; files of the author's own go on."""


@contextmanager
def task_log() -> Iterator[None]:
    """Let everything that is logged meanwhile appear in the task's log, also what libraries say, and only once."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    root.handlers = [*(each for each in handlers if type(each) not in _TWICE), _HANDLER]
    if level != LEVEL:
        root.setLevel(LEVEL)
    try:
        yield
    finally:
        root.handlers = handlers
        if root.level != level:
            root.setLevel(level)
