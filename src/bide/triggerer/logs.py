"""What triggers write, in the log of the try of their task. Few write anything, so a log begins with its first line."""

import asyncio

from bide.hosting.logs import LegLog, LogWriter
from bide.store.database import Database
from bide.store.records import log_sizes
from bide.triggerer.held import Held

MOST_PENDING = 32 * 2**20
"""Characters that wait to be stored; while the database is away, what comes after them is lost."""


class TriggerLogs:
    """Gathers what triggers have written and stores it."""

    def __init__(self, db: Database, limit_kb: int) -> None:
        self._db = db
        self._limit_kb = limit_kb
        self._writer = LogWriter(db)
        self._one_at_a_time = asyncio.Lock()
        self._texts: dict[Held, list[str]] = {}
        self._pending = 0

    def write(self, held: Held, text: str) -> None:
        """Take in a text of a trigger."""
        if held.task is not None and self._pending < MOST_PENDING:
            self._texts.setdefault(held, []).append(text)
            self._pending += len(text)

    def note(self, held: Held, line: str) -> None:
        """Write a line of the triggerer's own."""
        self.write(held, f"{line}\n")

    async def store(self) -> None:
        """Store what was written so far."""
        if not self._texts:
            return
        async with self._one_at_a_time:
            texts, self._texts, pending, self._pending = self._texts, {}, self._pending, 0
            begun = {held.task.id: held.task.try_number for held in texts if held.log is None and held.task is not None}
            try:
                sizes = await log_sizes(self._db, begun)
            except BaseException:
                for held, written in texts.items():
                    self._texts[held] = [*written, *self._texts.get(held, ())]
                self._pending += pending
                raise
            logs = [self._written(held, written, sizes) for held, written in texts.items()]
            await self._writer.store(logs)

    def _written(self, held: Held, texts: list[str], sizes: dict[int, int]) -> LegLog:
        assert held.task is not None
        task = held.task
        if held.log is None:
            had = sizes.get(task.id, 0)
            held.log = LegLog(task.id, task.try_number, task.leg, self._limit_kb, held.masker, had)
        held.log.write("".join(texts).encode(errors="replace"))
        if held.runner is None:
            held.log.end()
        return held.log

    def forget(self) -> None:
        """Write nothing of this any more."""
        self._texts.clear()
