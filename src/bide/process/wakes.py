"""Bells: how one loop wakes another, in this process at once and in others by a hint.

A bell says nothing but "look". It may ring once too often, and once too few is made good by the next tick.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from bide.store.database import Database
from bide.store.wake import Channel, Hints, listening


class Bell:
    """Wakes whoever waits for it. Rings that come while nobody waits are one, and are kept."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Wake the one who waits, or who will wait next."""
        self._rung.set()

    def silence(self) -> None:
        """Forget that it has rung: what follows looks at everything anyway."""
        self._rung.clear()

    async def wait(self, timeout_sec: float) -> bool:
        """Wait until it rings, but not longer than this; true if it has rung."""
        if self._rung.is_set():
            return True
        try:
            async with asyncio.timeout(timeout_sec):
                await self._rung.wait()
        except TimeoutError:
            return False
        return True


class Bells:
    """All bells of a process, by who is meant. Ringing a channel rings them here and hints at the other processes."""

    def __init__(self, hints: Hints) -> None:
        self._hints = hints
        self._bells: dict[Channel, list[Bell]] = {}

    def bell(self, channel: Channel) -> Bell:
        """Hang up a new bell that rings with the channel; each loop needs its own."""
        bell = Bell()
        self._bells.setdefault(channel, []).append(bell)
        return bell

    def ring(self, channel: Channel) -> None:
        """Wake those who are meant, here and elsewhere. Do it after the commit that they shall see."""
        self.ring_here(channel)
        self._hints.hint(channel)

    def ring_here(self, channel: Channel) -> None:
        """Wake those in this process."""
        for bell in self._bells.get(channel, ()):
            bell.ring()


@asynccontextmanager
async def bells(db: Database, url: str, channels: Collection[Channel], *, pooler: bool) -> AsyncIterator[Bells]:
    """Give the bells of a process. Where sessions are kept they hear what others hint at on these channels."""
    hung = Bells(Hints(db))
    if pooler:
        yield hung
        return
    async with listening(url, channels, hung.ring_here):
        yield hung
