"""Legs that were taken up before there was a slot for them.

Between the end of a short leg and the start of the next one lies a commit, which takes longer than the leg. So while
legs are short, the worker starts a few more than it has slots, and a slot that becomes free has the next one at once.
Should that one have to wait after all, because a leg before it is a long one, it is given back: others may have room.
"""

import time
from collections import deque
from collections.abc import Callable

from bide.worker.leg import Leg
from bide.worker.warm import WarmProcess

Find = Callable[[], WarmProcess]
"""Gives the process for a leg when there is a slot: one that was there before may have ended by then."""

AHEAD_SEC = 0.1
"""So much work is kept at hand: several are then started with one commit, and the next ones are there in time."""
MOST_PER_SLOT = 8
WAITS_SEC = 0.5
WEIGHT = 0.2
"""Of the last leg in the average: a dozen short ones have to be seen before the next is taken for one."""


class Hand:
    """Started legs that wait for a slot, the most urgent first."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._average_sec = 1.0
        self._waiting: deque[tuple[float, Leg, Find]] = deque()

    @property
    def reach(self) -> int:
        """How many legs may be taken up beside those that have slots."""
        return int(self._slots * min(MOST_PER_SLOT, AHEAD_SEC / max(self._average_sec, 0.001)))

    @property
    def has_enough(self) -> bool:
        """Whether more would not be missed: several together are taken up with less work than one by one."""
        return len(self._waiting) > self.reach // 2

    def saw(self, seconds: float) -> None:
        """Note how long a leg took."""
        self._average_sec += WEIGHT * (seconds - self._average_sec)

    def put(self, leg: Leg, find: Find) -> None:
        """Take up a leg."""
        self._waiting.append((time.monotonic(), leg, find))

    def next(self) -> tuple[Leg, Find] | None:
        """Give the leg for a slot that is free."""
        if not self._waiting:
            return None
        _, leg, find = self._waiting.popleft()
        return leg, find

    def remove(self, leg: Leg) -> None:
        """It was taken away."""
        self._waiting = deque(waiting for waiting in self._waiting if waiting[1] is not leg)

    def emptied_if_late(self) -> list[Leg]:
        """Return all of them, to be given back, if the first one has waited too long."""
        if not self._waiting or time.monotonic() - self._waiting[0][0] < WAITS_SEC:
            return []
        # Whatever keeps the slots is not short.
        self._average_sec = max(self._average_sec, 1.0)
        return self.emptied()

    def emptied(self) -> list[Leg]:
        """Return all of them."""
        waiting, self._waiting = self._waiting, deque()
        return [leg for _, leg, _ in waiting]
