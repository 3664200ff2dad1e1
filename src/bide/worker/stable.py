"""The warm processes of a worker: one for each state of a DAG file whose legs run here."""

import asyncio
import time

from bide.store.children import Version
from bide.worker.child import Desk
from bide.worker.warm import Manner, WarmProcess

KILLED_WITHIN_SEC = 5.0
"""A process that was killed and has not ended by then is given up together with the one that it was forked from."""
OUTDATED_SEC = 15.0
"""How long a process is kept unused when there is one with a newer state of the same file."""
SPARE_AGAIN_SEC = 30.0
"""A spare process that ends by itself would do so again."""


class Stable:
    """Starts warm processes when they are needed, keeps a spare one, and ends those that nobody needs."""

    def __init__(self, manner: Manner, desk: Desk) -> None:
        self._manner = manner
        self._desk = desk
        self._warm: dict[tuple[str, str], WarmProcess] = {}
        self._leaving: set[WarmProcess] = set()
        # Ready for whichever file comes next, so that its first leg does not wait for the start of a Python.
        self._spare: WarmProcess | None = None
        self._no_spare_before = 0.0

    def process_for(self, version: Version) -> WarmProcess:
        """Give the process for a version, started now if there is none; OSError if it cannot be started."""
        key = version.state_of_file
        warm = self._warm.get(key)
        if warm is None or warm.is_over:
            if warm is not None:
                self._leaving.add(warm)
            warm = self._taken_spare() or WarmProcess(self._manner, self._desk)
            warm.load(version)
            self._warm[key] = warm
        return warm

    def keep_spare(self) -> None:
        """See to it that there is a spare process."""
        if self._spare is not None and self._spare.is_over:
            self._taken_spare()
            self._no_spare_before = time.monotonic() + SPARE_AGAIN_SEC
        if self._spare is None and time.monotonic() >= self._no_spare_before:
            self._spare = WarmProcess(self._manner, self._desk)

    def tidy(self, load_sec: float, unused_sec: float, most_unused: int, grace_sec: float) -> None:
        """End what nobody needs, and what should have ended by itself."""
        now = time.monotonic()
        self._leaving = {warm for warm in self._leaving if not warm.has_ended}
        for key, warm in list(self._warm.items()):
            if warm.is_over:
                self._leaving.add(self._warm.pop(key))
            elif not warm.is_ready and now - warm.began_at > load_sec:
                warm.is_too_slow(load_sec)
            for child in warm.children.values():
                late_sec = 0.0 if child.leaving_since is None else now - child.leaving_since - grace_sec
                if late_sec > KILLED_WITHIN_SEC:
                    warm.kill_all()
                elif late_sec > 0:
                    warm.kill(child)
        files, kept = set[str](), 0
        for key, warm in sorted(self._warm.items(), key=lambda item: item[1].began_at, reverse=True):
            is_newest = key[0] not in files
            files.add(key[0])
            if not warm.is_used:
                kept += 1
                unused_for_sec = now - warm.used_at
                outdated = not is_newest and unused_for_sec > OUTDATED_SEC
                if outdated or kept > most_unused or unused_for_sec > unused_sec:
                    self._end(key)

    async def close(self) -> None:
        """End all of them with everything that they have begun, and wait until they are gone."""
        for key in list(self._warm):
            self._end(key)
        if spare := self._taken_spare():
            spare.end()
            self._leaving.add(spare)
        await asyncio.gather(*(warm.ended() for warm in self._leaving))
        self._leaving.clear()

    def _taken_spare(self) -> WarmProcess | None:
        spare, self._spare = self._spare, None
        if spare is None or not spare.is_over:
            return spare
        self._leaving.add(spare)
        return None

    def _end(self, key: tuple[str, str]) -> None:
        warm = self._warm.pop(key)
        warm.end()
        self._leaving.add(warm)
