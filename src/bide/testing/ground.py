"""A server for tests, found running or started, and a database of its own for each engine."""

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from bide import embedded
from bide.store.database import Database, connected
from bide.store.scratch import scratch_database

# What a test leaves behind is worth nothing after a power cut.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
SERVER_IN_ENVIRONMENT = "BIDE_TEST_DATABASE_URL"
Answer = TypeVar("Answer")


class Background:
    """An event loop in a thread of its own: the tasks of the test run in the caller's."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="bide.testing", daemon=True)
        self._thread.start()

    def run(self, act: Coroutine[Any, Any, Answer]) -> Answer:
        """Do something there, and wait for it."""
        return self.begin(act).result()

    def begin(self, act: Coroutine[Any, Any, Answer]) -> "Future[Answer]":
        """Begin to do something there."""
        return asyncio.run_coroutine_threadsafe(act, self._loop)

    def close(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def fresh() -> Iterator[tuple[Background, Database]]:
    """Give a fresh database and the loop that its connections live in."""
    with server() as url:
        background = Background()
        stack = AsyncExitStack()
        try:
            yield background, background.run(_opened(stack, url))
        finally:
            background.run(stack.aclose())
            background.close()


async def _opened(stack: AsyncExitStack, url: str) -> Database:
    own = await stack.enter_async_context(scratch_database(url))
    return await stack.enter_async_context(connected(own, pool_size=4))


@contextmanager
def server() -> Iterator[str]:
    """Give the address of a server: the one of the environment, or an embedded one that is kept between tests."""
    given = os.environ.get(SERVER_IN_ENVIRONMENT)
    if given:
        yield given
        return
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    with embedded.running(cache / "bide" / "testing", settings=FAST) as found:
        yield found.url
