"""Hints between processes: "there may be something to do for you". They save time and are never the truth.

A hint is sent after a commit, on its own, and says nothing but its channel, so a lost, doubled or forged one can only
cost time. Hints that come while others are being sent, or being heeded, are one. Whoever listens also looks by itself
from time to time. It looks at once after its connection was replaced, because hints may have been lost in between.

Behind a transaction pooler nothing is heard: sessions there change hands. Then looking by itself is all there is.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from enum import StrEnum

import asyncpg

from bide.errors import DatabaseUnavailable
from bide.sql import statement
from bide.store.database import Database
from bide.store.interruption import Interruption

log = logging.getLogger(__name__)

ALIVE_EVERY_SEC = 5.0
"""A connection that is silent this long is asked whether it is there, and has as long again to answer."""
RECONNECT_PAUSE_SEC = 0.5
GATHER_SEC = 0.01
"""After a hint the next one waits this long: whoever hints all the time costs the server one small commit each time."""


class Channel(StrEnum):
    """Who is hinted at."""

    SCHEDULER = "bide_scheduler"
    WORKER = "bide_worker"
    TRIGGERER = "bide_triggerer"
    DAG_PROCESSOR = "bide_dag_processor"
    WEB = "bide_web"


class Hints:
    """Sends hints, one statement at a time for all that were wanted in the meantime."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._wanted: set[Channel] = set()
        self._sender: asyncio.Task[None] | None = None

    def hint(self, channel: Channel) -> None:
        """Hint after a commit; returns at once."""
        self._wanted.add(channel)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self.notify())

    async def flushed(self) -> None:
        """Wait until everything that was wanted is sent."""
        if self._sender is not None:
            await self._sender

    async def notify(self) -> None:
        """Send what is wanted until nothing is left."""
        while self._wanted:
            channels, self._wanted = self._wanted, set()
            try:
                await self._db.rows("notify", list(channels))
            except (DatabaseUnavailable, asyncpg.PostgresError) as error:
                log.warning("Hints were lost, the others will look by themselves: %s", error)
            await asyncio.sleep(GATHER_SEC)


@asynccontextmanager
async def listening(
    url: str,
    channels: Collection[Channel],
    woken: Callable[[Channel], object],
    alive_every_sec: float = ALIVE_EVERY_SEC,
) -> AsyncIterator[None]:
    """Call `woken` for hints, and for every channel after each new connection, for as long as the block runs."""
    listener = asyncio.create_task(_listen(url, channels, woken, alive_every_sec))
    try:
        yield
    finally:
        listener.cancel()
        with suppress(asyncio.CancelledError):
            await listener


async def _listen(
    url: str, channels: Collection[Channel], woken: Callable[[Channel], object], every_sec: float
) -> None:
    interruption = Interruption("The connection for hints", "looking by itself until it is back")
    while True:
        try:
            await _listen_on_one_connection(url, channels, woken, every_sec, interruption.back)
        except Exception as error:
            interruption.lost(error)
        await asyncio.sleep(RECONNECT_PAUSE_SEC)


async def _listen_on_one_connection(
    url: str,
    channels: Collection[Channel],
    woken: Callable[[Channel], object],
    every_sec: float,
    listens: Callable[[], None],
) -> None:
    connection = await asyncpg.connect(
        url, timeout=every_sec, command_timeout=every_sec, server_settings={"application_name": "bide hints"}
    )
    hinted: set[Channel] = set()
    something = asyncio.Event()

    def heard(_connection: object, _pid: int, channel: str, _payload: object) -> None:
        hinted.add(Channel(channel))
        something.set()

    try:
        for channel in channels:
            await connection.add_listener(channel, heard)
        connection.add_termination_listener(lambda _connection: something.set())
        listens()
        # Listen first, then look: what was missed in between is found now.
        hinted.update(channels)
        while True:
            while hinted:
                _wake(woken, hinted.pop())
            something.clear()
            try:
                async with asyncio.timeout(every_sec):
                    await something.wait()
            except TimeoutError:
                await alive(connection)
            if connection.is_closed():
                raise ConnectionResetError("the server has closed it")
    finally:
        connection.terminate()


async def alive(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Ask a connection for an answer; it raises if there is none in time."""
    await connection.fetch(statement("alive").text)


def _wake(woken: Callable[[Channel], object], channel: Channel) -> None:
    try:
        woken(channel)
    except Exception:
        log.exception("Whoever listens to %s failed; the next hint is heard all the same.", channel)
