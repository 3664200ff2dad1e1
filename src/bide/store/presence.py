"""The lock that tells of a process's death at once: held on a connection of its own, which dies with the process."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NoReturn

import asyncpg

from bide.store.interruption import Interruption
from bide.store.jobs import hold_lock
from bide.store.wake import ALIVE_EVERY_SEC, alive

AGAIN_AFTER_SEC = 0.2


async def keep_lock(
    url: str, job_id: int, held: Callable[[], Awaitable[object]], alive_every_sec: float = ALIVE_EVERY_SEC
) -> NoReturn:
    """Hold the lock of a job until this is cancelled; calls `held` each time it is taken, for it may have been lost."""
    interruption = Interruption(f"The lock of job {job_id}", "taking it again")

    async def is_held() -> None:
        interruption.back()
        await held()

    while True:
        try:
            await _hold_on_one_connection(url, job_id, is_held, alive_every_sec)
        except Exception as error:
            interruption.lost(error)
        await asyncio.sleep(AGAIN_AFTER_SEC)


async def _hold_on_one_connection(
    url: str, job_id: int, held: Callable[[], Awaitable[object]], every_sec: float
) -> NoReturn:
    connection = await asyncpg.connect(
        url, timeout=every_sec, command_timeout=every_sec, server_settings={"application_name": "bide lock"}
    )
    closed = asyncio.Event()
    connection.add_termination_listener(lambda _connection: closed.set())
    try:
        # The server may not have noticed yet that an earlier connection is gone; until then that one holds it.
        while not await hold_lock(connection, job_id):
            await _closes_within(closed, AGAIN_AFTER_SEC)
        await held()
        while not await _closes_within(closed, every_sec):
            await alive(connection)
        raise ConnectionResetError("the server has closed its connection")
    finally:
        connection.terminate()


async def _closes_within(closed: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await closed.wait()
    except TimeoutError:
        return False
    return True
