"""The outcome of a leg: what a task's child tells its worker, and the worker turns into a verb.

Plain data that goes over a socket; each kind can be built in legal ways only. Values of the user (XComs,
keyword arguments, events) are text here, encoded where the user's code runs and opaque to everybody else.
"""

from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import force_setattr

from bide.errors import OutcomeError
from bide.model.wait import LONGEST_ID, Wait, is_name, must_be_a_moment, must_be_a_while

LONGEST_TEXT = 100_000
"""Characters of an error or a reason that are kept. The log has all of it."""


class Succeeded(Struct, frozen=True, tag="succeeded"):
    """The task has done its work. XComs are encoded text by key."""

    xcoms: dict[str, str] = {}

    def __post_init__(self) -> None:
        for key in self.xcoms:
            if not is_name(key):
                raise OutcomeError(f"XCom key {key[:100]!r} must be printable and have 1 to {LONGEST_ID} bytes.")


class Failed(Struct, frozen=True, tag="failed"):
    """The task raised. `retryable` is false where another try is of no use."""

    error: str
    traceback: str = ""
    retryable: bool = True

    def __post_init__(self) -> None:
        force_setattr(self, "error", _storable(self.error))
        force_setattr(self, "traceback", _storable(self.traceback))


class Skipped(Struct, frozen=True, tag="skipped"):
    """The task found that there is nothing to do."""

    reason: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "reason", _storable(self.reason))


class Deferred(Struct, frozen=True, tag="deferred"):
    """The task has nothing to do but wait; then it goes on in another leg."""

    wait: Wait


class Rescheduled(Struct, frozen=True, kw_only=True, tag="rescheduled"):
    """A sensor looks again: at a date, or after a while by the database's clock."""

    until: datetime | None = None
    after: timedelta | None = None

    def __post_init__(self) -> None:
        if (self.until is None) == (self.after is None):
            raise OutcomeError("A sensor looks again at a date or after a while: give either until or after.")
        if self.until is not None:
            must_be_a_moment("until", self.until)
        if self.after is not None:
            must_be_a_while("after", self.after)


Outcome = Succeeded | Failed | Skipped | Deferred | Rescheduled


def _storable(said: str) -> str:
    """Make any text one that the database takes: what an exception says is beyond everybody's control."""
    # The end of a traceback says more than its beginning, and the end of an error no less.
    kept = said if len(said) <= LONGEST_TEXT else f"…{said[1 - LONGEST_TEXT :]}"
    return kept.encode(errors="replace").decode().replace("\0", "\ufffd")
