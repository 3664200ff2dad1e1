"""Tracebacks of the author's code: the engine's own frames above it say nothing to its author.

Nor do those below it, where the engine itself has refused something: its sentence says what was wrong.
"""

from __future__ import annotations

import traceback
from types import FrameType, TracebackType

from bide.authoring.place import is_ours

_MOST_CAUSES = 20


def told(error: BaseException) -> str:
    """Say in one line, or as many as the error itself has, what was raised."""
    return "".join(traceback.format_exception_only(error)).strip()


def trace_of(error: BaseException) -> str:
    """Write the traceback of an error and its causes, without the frames before the author's code."""
    seen: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if seen is None:
            break
        seen.__traceback__ = _cut(seen.__traceback__)
        if is_ours(type(seen).__module__):
            _end_in_authors_code(seen.__traceback__)
        seen = seen.__cause__ or seen.__context__
    if error.__traceback__ is None and not isinstance(error, SyntaxError):
        return ""
    return "".join(traceback.format_exception(error)).strip()


def _cut(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and _is_engine(trace.tb_frame):
        trace = trace.tb_next
    return trace


def _end_in_authors_code(trace: TracebackType | None) -> None:
    last = None
    while trace is not None:
        last = last if _is_engine(trace.tb_frame) else trace
        trace = trace.tb_next
    if last is not None:
        last.tb_next = None


def _is_engine(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__", "")
    return is_ours(module) or module.startswith("importlib.")
