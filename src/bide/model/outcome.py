"""The outcome of a leg: what a task's child tells its worker, and the worker turns into a verb.

Plain data that goes over a socket; each kind can be built in legal ways only. Values of the user (XComs,
keyword arguments, events) are text here, encoded where the user's code runs and opaque to everybody else.
"""

import re
from datetime import datetime, timedelta

from msgspec import Struct

from bide.errors import OutcomeError

FAIL_METHOD = "__fail__"
"""The `next_method` that the engine itself sets when a wait has failed."""

# Not only identifiers: a trigger may live in a DAG file, and a file's name may hold a dash.
_CLASSPATH = re.compile(r"[^\s.]+(\.[^\s.]+)+")


class Succeeded(Struct, frozen=True, tag="succeeded"):
    """The task has done its work. XComs are encoded text by key."""

    xcoms: dict[str, str] = {}


class Failed(Struct, frozen=True, tag="failed"):
    """The task raised. `retryable` is false where another try is of no use."""

    error: str
    traceback: str = ""
    retryable: bool = True


class Skipped(Struct, frozen=True, tag="skipped"):
    """The task found that there is nothing to do."""

    reason: str = ""


class SealedLater(Struct, frozen=True):
    """A trigger as its class path and its arguments in clear text.

    The child that builds it holds no key: the worker seals the arguments before it stores them.
    """

    classpath: str
    kwargs: str

    def __post_init__(self) -> None:
        if not _CLASSPATH.fullmatch(self.classpath):
            raise OutcomeError(f"{self.classpath!r} is no class path; one looks like 'package.module.Class'.")


class Deferred(Struct, frozen=True, kw_only=True, tag="deferred"):
    """The task waits for a trigger, then goes on in `method_name`.

    A trigger that can tell its due date is a timer: it has `due_at` or `due_in` and the `event` that it
    will yield. A date in the past is legal; such a timer is due at once.
    """

    trigger: SealedLater
    method_name: str
    kwargs: str
    timeout: timedelta | None = None
    due_at: datetime | None = None
    due_in: timedelta | None = None
    event: str | None = None
    shared_key: str | None = None
    on_kill: bool = False
    queue: str | None = None

    @property
    def is_timer(self) -> bool:
        return self.due_at is not None or self.due_in is not None

    def __post_init__(self) -> None:
        if self.method_name == FAIL_METHOD:
            raise OutcomeError(f"method_name {FAIL_METHOD!r} is reserved for waits that failed; choose another one.")
        if not self.method_name.isidentifier():
            raise OutcomeError(f"method_name is {self.method_name!r}; it must be the name of a method.")
        if self.timeout is not None and self.timeout < timedelta(0):
            raise OutcomeError(f"timeout is {self.timeout}; it must not be negative.")
        self._check_timer()

    def _check_timer(self) -> None:
        if self.due_at is not None and self.due_in is not None:
            raise OutcomeError("A timer is due at a date or after a while: give due_at or due_in, not both.")
        if self.due_at is not None:
            _must_have_zone("due_at", self.due_at)
        if self.is_timer != (self.event is not None):
            raise OutcomeError("A timer needs a due date and the event it yields; other triggers have neither.")
        if self.is_timer and (self.on_kill or self.shared_key is not None):
            raise OutcomeError("No triggerer ever holds a timer, so it can have neither on_kill nor a shared_key.")


class Rescheduled(Struct, frozen=True, kw_only=True, tag="rescheduled"):
    """A sensor looks again: at a date, or after a while by the database's clock."""

    until: datetime | None = None
    after: timedelta | None = None

    def __post_init__(self) -> None:
        if (self.until is None) == (self.after is None):
            raise OutcomeError("A sensor looks again at a date or after a while: give either until or after.")
        if self.until is not None:
            _must_have_zone("until", self.until)
        if self.after is not None and self.after < timedelta(0):
            raise OutcomeError(f"after is {self.after}; it must not be negative.")


Outcome = Succeeded | Failed | Skipped | Deferred | Rescheduled


def _must_have_zone(name: str, date: datetime) -> None:
    if date.utcoffset() is None:
        raise OutcomeError(f"{name} is {date.isoformat()} without a time zone; say which one is meant.")
