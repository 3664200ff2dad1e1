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


class Stable:
    """Starts warm processes when they are needed, and ends those that nobody needs."""

    def __init__(self, manner: Manner, desk: Desk) -> None:
        self._manner = manner
        self._desk = desk
        self._warm: dict[tuple[str, str], WarmProcess] = {}
        self._leaving: set[WarmProcess] = set()

    def process_for(self, version: Version) -> WarmProcess:
        """Give the process for a version, started now if there is none; OSError if it cannot be started."""
        key = version.state_of_file
        warm = self._warm.get(key)
        if warm is None or warm.is_over:
            if warm is not None:
                self._leaving.add(warm)
            warm = self._warm[key] = WarmProcess(version, self._manner, self._desk)
        return warm

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
        await asyncio.gather(*(warm.ended() for warm in self._leaving))
        self._leaving.clear()

    def _end(self, key: tuple[str, str]) -> None:
        warm = self._warm.pop(key)
        warm.end()
        self._leaving.add(warm)
