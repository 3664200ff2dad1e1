"""The clock by which the code of batteries waits: the machine's, unless whoever runs the leg brings another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event
from time import monotonic
from typing import Protocol


class Clock(Protocol):
    """Tells the time, and lets it pass."""

    def now(self) -> float:
        """Return seconds, of which only differences mean something."""

    def utcnow(self) -> datetime:
        """Return the date."""

    def rest(self, seconds: float) -> None:
        """Let some pass."""


class _Machine:
    def now(self) -> float:
        return monotonic()

    def utcnow(self) -> datetime:
        return datetime.now(UTC)

    def rest(self, seconds: float) -> None:
        Event().wait(seconds)


_kept: list[Clock] = [_Machine()]


@contextmanager
def kept_by(clock: Clock) -> Iterator[None]:
    """Let this clock count for everything that is run meanwhile."""
    _kept.append(clock)
    try:
        yield
    finally:
        _kept.remove(clock)


def now() -> float:
    """Return seconds, of which only differences mean something."""
    return _kept[-1].now()


def utcnow() -> datetime:
    """Return the date, in UTC: by the clock of this machine, or in a test by that of its engine."""
    return _kept[-1].utcnow()


def rest(seconds: float) -> None:
    """Wait."""
    _kept[-1].rest(seconds)
