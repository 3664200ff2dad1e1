"""Doing something again and again, whatever happens: when a bell rings, and otherwise every so often."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import NoReturn

from bide.errors import BideError
from bide.process.wakes import Bell

log = logging.getLogger(__name__)

FIRST_PAUSE_SEC = 0.1
LONGEST_PAUSE_SEC = 10.0


class Chore:
    """One thing that a service does again and again. `rounds` and `last_at` tell whether it moves."""

    def __init__(
        self,
        name: str,
        act: Callable[[], Awaitable[object]],
        every_sec: float,
        bell: Bell | None = None,
        at_most_every_sec: float = 0.0,
    ) -> None:
        """`act` is called at once and when the bell has rung, after `every_sec` at the latest.

        If it returns True there is more to do, and it is called again without waiting. `at_most_every_sec` holds back
        a bell that rings all the time.
        """
        self.name = name
        self.rounds = 0
        self.failures = 0
        self.last_at = time.monotonic()
        self._act = act
        self._every_sec = every_sec
        self._bell = bell or Bell()
        self._at_most_every_sec = at_most_every_sec

    async def repeat(self) -> NoReturn:
        """Do it for as long as this is not cancelled. An exception is logged, and the pause grows with each one."""
        pause = FIRST_PAUSE_SEC
        while True:
            self._bell.silence()
            try:
                more = await self._act()
            except Exception as error:
                self.failures += 1
                # What a person can mend is said in a sentence.
                log.error("%s failed: %s", self.name, error, exc_info=not isinstance(error, BideError))
                # Jitter, so that those who failed together do not come back together.
                await asyncio.sleep(pause * random.uniform(0.5, 1))
                pause = min(2 * pause, LONGEST_PAUSE_SEC)
                continue
            pause = FIRST_PAUSE_SEC
            self.rounds += 1
            self.last_at = time.monotonic()
            if more is True:
                # Others have their turn, also where nothing was waited for.
                await asyncio.sleep(0)
                continue
            await self._bell.wait(self._every_sec)
            held_back = self.last_at + self._at_most_every_sec - time.monotonic()
            if held_back > 0:
                await asyncio.sleep(held_back)
