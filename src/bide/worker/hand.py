"""Legs that were taken up before there was a slot for them.

Between the end of a short leg and the start of the next one lies a commit, which takes longer than the leg. So while
legs are short, the worker starts a few more than it has slots, and a slot that becomes free has the next one at once.
Should that one have to wait after all, because a leg before it is a long one, it is given back: others may have room.
"""

import time
from collections import deque

from bide.worker.leg import Leg
from bide.worker.warm import WarmProcess

SHORT_SEC = 0.1
WAITS_SEC = 0.5
WEIGHT = 0.2
"""Of the last leg in the average: a dozen short ones have to be seen before the next is called short."""


class Hand:
    """Started legs that wait for a slot, the most urgent first."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._average_sec = 1.0
        self._waiting: deque[tuple[float, Leg, WarmProcess]] = deque()

    @property
    def reach(self) -> int:
        """How many legs may be taken up beside those that have slots."""
        return self._slots if self._average_sec < SHORT_SEC else 0

    def saw(self, seconds: float) -> None:
        """Note how long a leg took."""
        self._average_sec += WEIGHT * (seconds - self._average_sec)

    def put(self, leg: Leg, warm: WarmProcess) -> None:
        """Take up a leg."""
        self._waiting.append((time.monotonic(), leg, warm))

    def next(self) -> tuple[Leg, WarmProcess] | None:
        """Give the leg for a slot that is free."""
        if not self._waiting:
            return None
        _, leg, warm = self._waiting.popleft()
        return leg, warm

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
