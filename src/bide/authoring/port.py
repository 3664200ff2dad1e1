"""The way from a task's child to the engine: one question, one answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from bide.errors import BideError
from bide.exceptions import EngineRefused
from bide.model.questions import Ask


class Port(Protocol):
    """Answers the questions of a leg, from whichever thread they come. Whoever runs legs brings one."""

    def ask(self, question: Ask) -> Any:
        """Return the answer, or raise a BideError with a sentence for the task's author."""


# Not a context variable: threads that a task starts may ask too.
_open: list[Port] = []


@contextmanager
def answering(port: Port) -> Iterator[None]:
    """Let a port answer everything that is asked meanwhile."""
    _open.append(port)
    try:
        yield
    finally:
        _open.remove(port)


def is_answered() -> bool:
    """Tell whether there is somebody to ask, as while a task runs."""
    return bool(_open)


def ask(question: Ask) -> Any:
    """Ask the engine."""
    if not _open:
        raise EngineRefused(
            "Variables, connections and XComs are known only while a task runs, not while its file is read. "
            "Ask for them within a task, or in a template such as {{ var.value.name }}."
        )
    try:
        return _open[-1].ask(question)
    except BideError as error:
        # Authors catch what tasks raise, and this is raised in a task.
        raise EngineRefused(str(error)) from None
