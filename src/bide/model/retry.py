"""What follows a failed try: another one after a delay, or the end."""

import hashlib
from datetime import timedelta

from msgspec import Struct

from bide.errors import PlanError

LONGEST_DELAY = timedelta(days=365)
"""No delay exceeds this, whatever the policy says: a date must come out of every delay."""

MOST_RETRIES = 1_000_000
"""Far from the largest integer of the database, so that the tries of a task may be counted on when it is cleared."""

_TICK = timedelta(microseconds=1)
_ENOUGH_DOUBLINGS = (LONGEST_DELAY // _TICK).bit_length()  # then even one tick exceeds the longest delay


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often a task may fail before that counts, and how long it rests between two tries."""

    retries: int = 0
    delay: timedelta = timedelta(minutes=5)
    exponential: bool = False
    max_delay: timedelta | None = None
    jitter: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.retries <= MOST_RETRIES:
            raise PlanError(f"retries is {self.retries}; it must lie between 0 and {MOST_RETRIES}.")
        if self.delay < timedelta(0):
            raise PlanError(f"retry_delay is {self.delay}; it must not be negative.")
        if self.max_delay is not None and self.max_delay < timedelta(0):
            raise PlanError(f"max_retry_delay is {self.max_delay}; it must not be negative.")


class Retry(Struct, frozen=True):
    """Try again when the delay has passed."""

    delay: timedelta


class GiveUp(Struct, frozen=True):
    """The task has failed for good."""

    reason: str


def after_failure(
    policy: RetryPolicy, try_number: int, max_tries: int, *, retryable: bool = True, seed: int = 0
) -> Retry | GiveUp:
    """Decide what follows the failure of this try.

    `try_number` counts from 1 for the whole life of a task instance. `max_tries` is the last try that may be followed
    by another: `retries` at first, and that many more each time a person clears the task, whose delays then begin
    anew. `retryable` is false for exceptions that say "do not retry" and for the timeout of a sensor. `seed`, such as
    the id of the task instance, decides the jitter.
    """
    if try_number < 1:
        raise ValueError(f"tries count from 1, not from {try_number}")
    if not retryable:
        return GiveUp("the failure says that a retry is of no use")
    if try_number > max_tries:
        return GiveUp("no retries are left" if policy.retries else "no retries are set")
    # Another version of the DAG may have other retries than the one that the task was launched with.
    failures = max(1, try_number - (max_tries - policy.retries))
    delay = _delay(policy, failures)
    return Retry(_jittered(delay, seed, try_number) if policy.jitter else delay)


def _delay(policy: RetryPolicy, failures: int) -> timedelta:
    # Whole ticks, because timedelta overflows where int does not; and no more doublings than can matter.
    doublings = min(failures - 1, _ENOUGH_DOUBLINGS) if policy.exponential else 0
    ticks = (policy.delay // _TICK) << doublings
    longest = LONGEST_DELAY if policy.max_delay is None else min(policy.max_delay, LONGEST_DELAY)
    return min(ticks, longest // _TICK) * _TICK


def _jittered(delay: timedelta, seed: int, try_number: int) -> timedelta:
    """Choose a delay in the upper half.

    Tasks that failed together come back apart, no cap is exceeded, and the order of magnitude stays.
    A digest, not a random number: whoever computes it again gets the same date.
    """
    digest = hashlib.blake2b(f"{seed}/{try_number}".encode(), digest_size=8).digest()
    half = delay // _TICK // 2
    taken_off = half * int.from_bytes(digest) >> 64
    return delay - taken_off * _TICK
