"""What legs write: masked, cut into pieces, limited, and stored in their order.

Of a log that is too long the beginning is stored as it comes, the end is kept in memory until the leg ends, and what is
between them is left out. Whoever writes faster than the database stores has to wait.
"""

import asyncio
import codecs
import logging
from collections import deque
from collections.abc import Iterable

from bide.errors import DatabaseUnavailable
from bide.process.masking import Masker
from bide.store.database import Database
from bide.store.records import NewChunk, append_log

log = logging.getLogger(__name__)

LONGEST_CHUNK = 100_000
"""Characters of one row."""
MOST_PENDING = 512 * 1024
"""Bytes of a leg that may wait to be stored before its pipe is no longer read."""
MOST_AT_ONCE = 8 * 2**20
"""Bytes that one statement stores."""
END_SHARE = 4
"""This part of the limit is for the end of the log."""


class LegLog:
    """The log of one leg, a part of the log of its try."""

    def __init__(
        self, task_instance_id: int, try_number: int, leg: int, limit_kb: int, masker: Masker, had: int = 0
    ) -> None:
        """`had` is the number of bytes that earlier legs of the try have written."""
        self.task_instance_id = task_instance_id
        self.try_number = try_number
        self.leg = leg
        self.pending_bytes = 0
        self._limit_kb = limit_kb
        self._room = max(0, limit_kb * 1024 * (END_SHARE - 1) // END_SHARE - had)
        self._end_room = limit_kb * 1024 // END_SHARE
        self._mask = masker
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unmasked = ""
        self._pending: list[str] = []
        self._end: deque[str] = deque()
        self._end_bytes = 0
        self._left_out = 0

    @property
    def is_full(self) -> bool:
        """Whether its writer has to wait."""
        return self.pending_bytes >= MOST_PENDING

    def write(self, data: bytes) -> None:
        """Take in what came through the pipe."""
        self._take_in(self._decoder.decode(data), last=False)

    def note(self, line: str) -> None:
        """Write a line of the worker's own."""
        self._take_in(f"{line}\n", last=False)

    def end(self) -> None:
        """Nothing more will be written: let go of what was kept back."""
        self._take_in(self._decoder.decode(b"", final=True), last=True)
        if self._left_out:
            self._keep(
                f"\n… {self._left_out:,} bytes were left out here: a log may have {self._limit_kb:,} KB "
                "(worker.log_limit_kb) …\n"
            )
        for text in self._end:
            self._keep(text)
        self._end.clear()

    def taken(self) -> list[NewChunk]:
        """Return what is to be stored, and forget it."""
        text, self._pending, self.pending_bytes = "".join(self._pending), [], 0
        return [
            NewChunk(self.task_instance_id, self.try_number, self.leg, text[at : at + LONGEST_CHUNK])
            for at in range(0, len(text), LONGEST_CHUNK)
        ]

    def _take_in(self, text: str, *, last: bool) -> None:
        text = self._unmasked + text
        # A secret may come in two pieces.
        masked_to = len(text) - (0 if last else self._mask.unfinished(text))
        self._unmasked = text[masked_to:]
        if text := self._mask(text[:masked_to]):
            self._limit(text)

    def _limit(self, text: str) -> None:
        size = len(text.encode())
        if size <= self._room:
            self._room -= size
            self._keep(text)
            return
        # Bytes that are cut through a character make two halves that nobody can read.
        fits = len(text.encode()[: self._room].decode(errors="ignore"))
        self._room = 0
        if fits:
            self._keep(text[:fits])
        self._keep_at_end(text[fits:])

    def _keep(self, text: str) -> None:
        self._pending.append(text)
        self.pending_bytes += len(text.encode())

    def _keep_at_end(self, text: str) -> None:
        self._end.append(text)
        self._end_bytes += len(text.encode())
        while self._end_bytes > self._end_room:
            first = self._end.popleft()
            size, over = len(first.encode()), self._end_bytes - self._end_room
            rest = first.encode()[over:].decode(errors="ignore") if size > over else ""
            if rest:
                self._end.appendleft(rest)
            gone = size - len(rest.encode())
            self._end_bytes -= gone
            self._left_out += gone


class LogWriter:
    """Stores what legs have written, one batch after the other, so that the pieces of a leg keep their order."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._one_at_a_time = asyncio.Lock()
        self._unsent: deque[NewChunk] = deque()

    async def store(self, logs: Iterable[LegLog]) -> None:
        """Store what these legs have written so far. What fails is kept for the next time."""
        async with self._one_at_a_time:
            for leg_log in logs:
                self._unsent.extend(leg_log.taken())
            while self._unsent:
                batch = self._batch()
                await self._append(batch)
                for _ in batch:
                    self._unsent.popleft()

    async def _append(self, batch: list[NewChunk]) -> None:
        try:
            await append_log(self._db, batch)
        except DatabaseUnavailable:
            raise
        except Exception:
            # What the database does not take would stand before everything that comes after it.
            log.exception("%d pieces of logs could not be stored.", len(batch))

    def _batch(self) -> list[NewChunk]:
        size, batch = 0, []
        for chunk in self._unsent:
            batch.append(chunk)
            size += len(chunk.text)
            if size >= MOST_AT_ONCE:
                break
        return batch
