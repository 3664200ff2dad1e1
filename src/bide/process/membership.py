"""A service's place among the others: registered, kept alive by its heartbeat, given up, or left in order."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from msgspec.structs import replace

from bide import __version__
from bide.errors import BideError
from bide.store import jobs
from bide.store.database import Database
from bide.store.jobs import NewJob
from bide.store.presence import keep_lock

log = logging.getLogger(__name__)


class Member:
    """A registered service. `who` is its name in the history; `buried` is set once it was given up.

    A service whose work is done by others may say by `may_beat` whether they still do it: a heartbeat has to be earned.
    """

    def __init__(self, db: Database, job_id: int, job: NewJob) -> None:
        self.id = job_id
        self.who = f"{job.job_type} {job_id}"
        self.buried = asyncio.Event()
        self.may_beat: Callable[[], bool] = lambda: True
        self._db = db
        self._every_sec = job.heartbeat_sec

    async def beat(self) -> None:
        """Say that it is alive, and hear whether the others still think so."""
        if not self.may_beat():
            log.error("%s does not beat: nobody does its work.", self.who)
            return
        if not self.buried.is_set() and not await jobs.beat(self._db, self.id):
            log.warning("%s was given up by the others: its heartbeats did not arrive in time.", self.who)
            self.buried.set()

    async def keep_beating(self) -> None:
        """Beat until it is buried. A beat that does not arrive is tried again: only an answer buries."""
        while not self.buried.is_set():
            await asyncio.sleep(self._every_sec)
            try:
                await self.beat()
            except Exception as error:
                log.error("A heartbeat of %s did not arrive: %s", self.who, error, exc_info=not _expected(error))

    async def retire(self) -> None:
        """Leave in order."""
        await jobs.retire(self._db, self.who, self.id)


@asynccontextmanager
async def joined(db: Database, job: NewJob, lock_url: str | None) -> AsyncIterator[Member]:
    """Register a service, and keep it alive for as long as the block runs.

    With `lock_url`, which must lead to the server itself and not through a pooler, it also holds the lock whose loss
    tells of its death at once.
    """
    here = replace(
        job, hostname=socket.gethostname(), pid=os.getpid(), version=__version__, holds_lock=lock_url is not None
    )
    member = Member(db, await jobs.register(db, f"{job.job_type} on {here.hostname}", here), here)
    tasks = [asyncio.create_task(member.keep_beating())]
    if lock_url is not None:
        # Until it has the lock it looks dead; the beat says that it is not.
        tasks.append(asyncio.create_task(keep_lock(lock_url, member.id, member.beat)))
    try:
        yield member
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _expected(error: Exception) -> bool:
    return isinstance(error, BideError)
