"""Fail points: for tests, a process that goes wrong right before or right after a named statement is committed.

    BIDE_FAIL_POINTS="start:after:die, succeed:before:lose"

Each is met once. `before` is the next time that the statement is about to be sent; `after` is the first time that it
has brought rows back, so that something is committed. What happens then:

* `die`: the process is killed.
* `freeze`: it stands still until somebody sends SIGCONT.
* `raise`: an error that nobody expects. After the commit this is a commit that reports an error.
* `lose`: the connection is lost, and the statement is sent again, as after any lost connection.

Every verb is one statement, so these are all the commit boundaries that there are.
"""

import logging
import os
import signal
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from bide.errors import SettingsError
from bide.sql import statement

log = logging.getLogger(__name__)

VARIABLE = "BIDE_FAIL_POINTS"


class FailPointError(Exception):
    """Raised on purpose."""


def die(_point: str) -> None:
    """End as a process does that is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


def freeze(_point: str) -> None:
    """Stand still until somebody sends SIGCONT."""
    os.kill(os.getpid(), signal.SIGSTOP)


def fail(point: str) -> None:
    """Raise what nobody expects."""
    raise FailPointError(f"the fail point {point} was met")


def lose(point: str) -> None:
    """Raise what a lost connection raises."""
    raise ConnectionResetError(f"the fail point {point} was met")


ACTS: Mapping[str, Callable[[str], None]] = MappingProxyType(
    {"die": die, "freeze": freeze, "raise": fail, "lose": lose}
)
MOMENTS = ("before", "after")


class FailPoints:
    """The fail points of a process that were not met yet; as a rule there are none."""

    def __init__(self, text: str = "") -> None:
        """`text` is what the variable says."""
        self._points = {point.rpartition(":")[0]: point for part in text.split(",") if (point := _checked(part))}
        if self._points:
            log.warning("This process goes wrong on purpose, because %s is set: %s", VARIABLE, text)

    def before(self, name: str) -> None:
        """A statement is about to be sent."""
        if self._points:
            self._meet(f"{name}:before")

    def after(self, name: str, rows: Collection[object]) -> None:
        """A statement was carried out and has brought these rows back."""
        if self._points and rows:
            self._meet(f"{name}:after")

    def _meet(self, place: str) -> None:
        point = self._points.pop(place, None)
        if point is not None:
            log.warning("The fail point %s is met.", point)
            ACTS[point.rpartition(":")[2]](point)


def _checked(text: str) -> str:
    point = text.strip()
    if not point:
        return ""
    name, moment, act = (*point.split(":"), "", "", "")[:3]
    try:
        statement(name)
    except KeyError:
        raise SettingsError(f"{VARIABLE}: there is no statement {name!r} in {point!r}.") from None
    if moment not in MOMENTS or act not in ACTS or point.count(":") != 2:
        raise SettingsError(
            f"{VARIABLE}: write statement:moment:act instead of {point!r}; moments are {', '.join(MOMENTS)}, and acts "
            f"are {', '.join(ACTS)}."
        )
    return point
