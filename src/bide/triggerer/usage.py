"""What triggers use, for people: who of them computes most, and who has done harm."""

import asyncio

from bide.model.trigger_messages import Used
from bide.store.database import Database
from bide.store.usage import Use, report_use
from bide.triggerer.held import Held

MOST = 100
NANO = 1_000_000_000


class Usage:
    """Keeps the figures of the busiest triggers, and stores them when something has changed."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._uses: dict[int, Use] = {}
        self._has_changed = False
        self._one_at_a_time = asyncio.Lock()

    def note(self, held: Held, used: Used) -> None:
        """A runner tells what a trigger has used since it began there."""
        self._keep(held, used.steps, used.busy_ns / NANO, used.longest_ns / NANO)

    def struck(self, held: Held) -> None:
        """A trigger has done harm."""
        known = self._uses.get(held.id)
        if known is None:
            self._keep(held, 0, 0.0, 0.0)
        else:
            self._keep(held, known.steps, known.busy_sec, known.longest_sec)

    def forget(self, held: Held) -> None:
        """Its wait is over."""
        if self._uses.pop(held.id, None) is not None:
            self._has_changed = True

    async def store(self, triggerer_id: int) -> None:
        """Store the figures."""
        async with self._one_at_a_time:
            if not self._has_changed:
                return
            self._has_changed = False
            busiest = sorted(self._uses.values(), key=lambda use: (use.strikes, use.busy_sec), reverse=True)[:MOST]
            self._uses = {use.trigger_id: use for use in busiest}
            await report_use(self._db, triggerer_id, busiest)

    def clear(self) -> None:
        """Begin afresh."""
        self._uses.clear()
        self._has_changed = False

    def _keep(self, held: Held, steps: int, busy_sec: float, longest_sec: float) -> None:
        pid = held.runner.pid if held.runner is not None else 0
        evidence = held.evidence[-1] if held.evidence else ""
        self._uses[held.id] = Use(held.id, pid, steps, busy_sec, longest_sec, held.strikes, evidence)
        self._has_changed = True
