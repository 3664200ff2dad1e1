"""Fair shares: which triggerer hands over how many waits."""

from collections.abc import Sequence

from bide.store.jobs import Load

FEW = 10
"""Differences of so few waits are not worth moving them."""
FAR = 0.1
MOST_AT_ONCE = 2000


def surplus(me: int, loads: Sequence[Load]) -> int:
    """Count what one triggerer has more than its share, if another one that serves the same queues has far less."""
    mine = next((load for load in loads if load.id == me), None)
    if mine is None:
        return 0
    peers = [load for load in loads if sorted(load.queues) == sorted(mine.queues)]
    fair = sum(load.load for load in peers) / len(peers)
    wanted = sum(max(0, int(min(fair, load.capacity or fair)) - load.load) for load in peers if load.id != me)
    far_less = any(load.load < fair * (1 - FAR) - FEW for load in peers)
    if not far_less or mine.load <= fair + FEW:
        return 0
    return min(int(mine.load - fair), wanted, MOST_AT_ONCE)
