"""A wait as it is asked for: what a trigger is made of, and where the task goes on after it.

A task's child asks for one in the middle of its work, a plan for one at the start of a task; both in these words.
"""

import re
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from bide.errors import OutcomeError
from bide.model.transitions import FAIL_METHOD

LONGEST_WAIT = timedelta(days=36_500)
"""A hundred years: added to any date that is near, it stays a date for Python and for PostgreSQL."""

LONGEST_ID = 250
"""In bytes. Ids become names of files and parts of an index, and both are limited in bytes."""

_LONGEST_PATH = 1000
# Not only identifiers: a trigger may live in a DAG file, and a file's name may hold a dash.
_CLASSPATH = re.compile(r"[^\s.]+(\.[^\s.]+)+")


class Wait(Struct, frozen=True, kw_only=True):
    """What to wait for, in which method to go on with which arguments, and for how long at most.

    All arguments are encoded text, the trigger's `kwargs` still unsealed: who asks holds no key. A trigger that can
    tell its due date is a timer: it has `due_at` or `due_in`, and either the `event` that it will yield, or `ends`
    where nothing is left to do then. A due date in the past is legal; such a timer is due at once.
    """

    classpath: str
    kwargs: str
    next_method: str
    next_kwargs: str = "{}"
    timeout: timedelta | None = None
    due_at: datetime | None = None
    due_in: timedelta | None = None
    event: str | None = None
    ends: bool = False
    shared_key: str | None = None
    on_kill: bool = False
    # The class stands in the folder of DAG files, so it is run in the state of them that the task itself runs in.
    own_code: bool = False
    queue: str | None = None

    @property
    def is_timer(self) -> bool:
        return self.due_at is not None or self.due_in is not None

    def __post_init__(self) -> None:
        if not (_CLASSPATH.fullmatch(self.classpath) and _fits(self.classpath)):
            raise OutcomeError(f"{self.classpath[:100]!r} is no class path; one looks like 'package.module.Class'.")
        if self.next_method == FAIL_METHOD:
            raise OutcomeError(f"method_name {FAIL_METHOD!r} is reserved for waits that failed; choose another one.")
        if not (self.next_method.isidentifier() and _fits(self.next_method)):
            raise OutcomeError(f"method_name is {self.next_method[:100]!r}; it must be the name of a method.")
        if self.timeout is not None:
            must_be_a_while("timeout", self.timeout)
        for name, given in {"queue": self.queue, "shared_key": self.shared_key}.items():
            if given is not None and not is_name(given):
                raise OutcomeError(f"{name} {given[:100]!r} must be printable and have 1 to {LONGEST_ID} bytes.")
        self._check_timer()

    def _check_timer(self) -> None:
        if self.due_at is not None and self.due_in is not None:
            raise OutcomeError("A timer is due at a date or after a while: give due_at or due_in, not both.")
        if self.due_at is not None:
            must_be_a_moment("due_at", self.due_at)
        if self.due_in is not None:
            must_be_a_while("due_in", abs(self.due_in))
        if self.event is not None and self.ends:
            raise OutcomeError("A timer yields an event or ends its task, not both.")
        if self.is_timer != (self.event is not None or self.ends):
            raise OutcomeError("A timer needs a due date and what happens then; other triggers have neither.")
        if self.is_timer and (self.on_kill or self.shared_key is not None):
            raise OutcomeError("No triggerer ever holds a timer, so it can have neither on_kill nor a shared_key.")


def is_name(given: str) -> bool:
    """Tell whether a text can stand as a name in the database, in an index and on a screen."""
    return given.isprintable() and 0 < len(given.encode()) <= LONGEST_ID


def _fits(path: str) -> bool:
    return path.isprintable() and len(path) <= _LONGEST_PATH


def must_be_a_while(name: str, given: timedelta) -> None:
    """Refuse a duration that is negative or that leads to no date."""
    if not timedelta(0) <= given <= LONGEST_WAIT:
        raise OutcomeError(f"{name} is {given}; it must not be negative, nor over {LONGEST_WAIT.days} days.")


def must_be_a_moment(name: str, given: datetime) -> None:
    """Refuse a date that is no moment for everybody: without a zone, or at an end of the calendar."""
    if given.utcoffset() is None:
        raise OutcomeError(f"{name} is {given.isoformat()} without a time zone; say which one is meant.")
    try:
        given.astimezone(UTC)
    except OverflowError:
        raise OutcomeError(f"{name} is {given.isoformat()}, which is no date in UTC.") from None
