"""What the code of a task finds around it in this process: who answers it, a clock, and where what it writes lands."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Protocol

from bide.authoring.clock import kept_by
from bide.authoring.port import Port
from bide.model.questions import Ask
from bide.testing.output import Show, taken_in
from bide.worker.leg import Work


class Host(Protocol):
    """The engine that it runs on."""

    @property
    def now(self) -> datetime:
        """What its clock says."""

    def rest(self, work: Work, seconds: float) -> None:
        """Let time pass."""

    def answer(self, work: Work, question: Ask) -> Any:
        """Answer a question."""


@contextmanager
def around(host: Host, work: Work, show: Show | None) -> Iterator[Port]:
    """Run a leg, or a call after one, meanwhile; its way to the engine needs no socket in between."""
    with taken_in(work, show), kept_by(_Clock(host, work)):
        yield _Port(host, work)


class _Port:
    def __init__(self, host: Host, work: Work) -> None:
        self._host, self._work = host, work

    def ask(self, question: Ask) -> Any:
        return self._host.answer(self._work, question)


class _Clock:
    def __init__(self, host: Host, work: Work) -> None:
        self._host, self._work = host, work

    def now(self) -> float:
        return self._host.now.timestamp()

    def utcnow(self) -> datetime:
        return self._host.now

    def rest(self, seconds: float) -> None:
        self._host.rest(self._work, seconds)
