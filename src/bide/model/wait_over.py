"""How a trigger's code has ended a wait: what the process that runs it tells, and its triggerer turns into a verb.

Values of the user are text, encoded where the user's code runs and opaque to everybody else.
"""

from typing import Literal

from msgspec import Struct


class Fires(Struct, frozen=True, tag="fires"):
    """It yielded an event: the task goes on, with the payload among its arguments. `fire`."""

    event: str


class Ends(Struct, frozen=True, tag="ends"):
    """It yielded the end of the task. XComs by key. `end`; a failure goes on to `__fail__`, as every failure does."""

    state: Literal["success", "failed", "skipped"]
    xcoms: dict[str, str] = {}
    reason: str = ""


class Crashes(Struct, frozen=True, tag="crashes"):
    """It raised, or ended without an event. `retryable` is false where another try is of no use. `crash`."""

    error: str
    traceback: str = ""
    retryable: bool = True


WaitOver = Fires | Ends | Crashes

# Why a `__fail__` leg is to fail: words that stand beside its error. ----------------------------------------------

TRIGGER_FAILED = "trigger_failed"
FAILED_FOR_GOOD = "trigger_failed_for_good"
TRIGGER_TIMEOUT = "trigger_timeout"
SENSOR_TIMEOUT = "sensor_timeout"
EXECUTION_TIMEOUT = "execution_timeout"

NEVER_AGAIN = frozenset({SENSOR_TIMEOUT, FAILED_FOR_GOOD})
"""Another try is of no use."""

TAKEN_SOFTLY = frozenset({SENSOR_TIMEOUT, FAILED_FOR_GOOD, TRIGGER_TIMEOUT, EXECUTION_TIMEOUT})
"""A sensor with `soft_fail` counts as skipped."""
