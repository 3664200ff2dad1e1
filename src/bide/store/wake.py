"""Hints between processes: "there may be something to do for you". They save time and are never the truth.

A hint is sent after a commit, on its own, and says nothing but its channel, so a lost, doubled or forged one can only
cost time. Hints that come while one is being sent are sent as one. Whoever listens also looks by itself from time to
time, and looks at once after its connection was replaced, because hints may have been lost in between.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from enum import StrEnum

import asyncpg

from bide.errors import DatabaseUnavailable
from bide.sql import statement
from bide.store.database import PASSING, Database

log = logging.getLogger(__name__)

ALIVE_EVERY_SEC = 5.0
"""A connection that is cut without a word is found by asking it something this often."""
RECONNECT_PAUSE_SEC = 0.5


class Channel(StrEnum):
    """Who is hinted at."""

    SCHEDULER = "bide_scheduler"
    WORKER = "bide_worker"
    TRIGGERER = "bide_triggerer"
    DAG_PROCESSOR = "bide_dag_processor"
    WEB = "bide_web"


class Hints:
    """Sends hints, at most one for each channel under way."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._wanted: set[Channel] = set()
        self._sender: asyncio.Task[None] | None = None
        self.sent = 0

    def hint(self, channel: Channel) -> None:
        """Hint after a commit; returns at once."""
        self._wanted.add(channel)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())

    async def flushed(self) -> None:
        """Wait until everything that was wanted is sent."""
        if self._sender is not None:
            await self._sender

    async def _send(self) -> None:
        while self._wanted:
            channel = self._wanted.pop()
            try:
                await self._db.rows("notify", channel)
                self.sent += 1
            except DatabaseUnavailable:
                log.warning("A hint to %s was lost; it will look by itself.", channel)


@asynccontextmanager
async def listening(
    url: str,
    channels: Collection[Channel],
    woken: Callable[[Channel], object],
    alive_every_sec: float = ALIVE_EVERY_SEC,
) -> AsyncIterator[None]:
    """Call `woken` for each hint, and for every channel after each new connection, for as long as the block runs."""
    first = asyncio.Event()
    listener = asyncio.create_task(_listen(url, channels, woken, first, alive_every_sec))
    try:
        await first.wait()
        yield
    finally:
        listener.cancel()
        with suppress(asyncio.CancelledError):
            await listener


async def _listen(
    url: str, channels: Collection[Channel], woken: Callable[[Channel], object], first: asyncio.Event, every_sec: float
) -> None:
    while True:
        try:
            await _listen_on_one_connection(url, channels, woken, first, every_sec)
        except PASSING as error:
            log.warning("The connection for hints was lost (%s); looking by itself until it is back.", error)
        await asyncio.sleep(RECONNECT_PAUSE_SEC)


async def _listen_on_one_connection(
    url: str, channels: Collection[Channel], woken: Callable[[Channel], object], first: asyncio.Event, every_sec: float
) -> None:
    connection = await asyncpg.connect(url, timeout=every_sec, server_settings={"application_name": "bide hints"})
    try:
        for channel in channels:
            await connection.add_listener(channel, lambda _connection, _pid, name, _payload: woken(Channel(name)))
        # Listen first, then look: what was missed in between is found now.
        for channel in channels:
            woken(channel)
        first.set()
        while True:
            await asyncio.sleep(every_sec)
            await asyncio.wait_for(connection.fetchval(statement("database_now").text), every_sec)
    finally:
        connection.terminate()
