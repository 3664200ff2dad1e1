"""The one way to the database: a pool of connections, and the retry of what may be repeated without harm.

Every verb is one statement, guarded by a fence, so it may be sent again whenever it is not known whether it was
carried out: if it was, the second time changes nothing. That is why the retry stands here, once, for all of them.
"""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from bide.errors import DatabaseUnavailable
from bide.sql import statement
from bide.store.rows import Changed, changed

# What passes by itself: a conflict with another transaction, a server that restarts, a connection that was cut.
PASSING = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    OSError,
    TimeoutError,
)
# Violated by those who join a shared wait in the moment it ends; the second look sees them.
SHARED_WAIT = "task_instance_waits_for_fkey"
FIRST_PAUSE_SEC = 0.005
LONGEST_PAUSE_SEC = 1.0


class Database:
    """A pool of connections to one database, and the count of what was repeated and refused."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", patience_sec: float) -> None:
        self._pool = pool
        self._patience_sec = patience_sec
        self.retries = 0
        self.stale_writes: Counter[str] = Counter()

    async def verb(self, name: str, who: str, items: Sequence[object], *arguments: Any) -> list[Changed]:
        """Say a verb about some items. What comes back was changed; what does not was no longer the caller's."""
        if not items:
            return []
        answer = changed(await self.rows(name, who, *arguments))
        self.stale_writes[name] += max(0, len(items) - len(answer))
        return answer

    async def found(self, name: str, who: str, *arguments: Any) -> list[Changed]:
        """Say a verb about whatever the statement itself finds due."""
        return changed(await self.rows(name, who, *arguments))

    async def rows(self, name: str, *arguments: Any) -> list[asyncpg.Record]:
        """Run a named statement, again while what stands in the way is passing."""
        text = statement(name).text
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience_sec
        pause = FIRST_PAUSE_SEC
        while True:
            try:
                found: list[asyncpg.Record] = await self._pool.fetch(text, *arguments)
                return found
            except (*PASSING, asyncpg.ForeignKeyViolationError) as error:
                if self._pool.is_closing() or not _passes(error):
                    raise
                if loop.time() + pause > deadline:
                    raise DatabaseUnavailable(
                        f"PostgreSQL did not carry out {name!r} within {self._patience_sec:g} s: {error}"
                    ) from error
            self.retries += 1
            # Jitter, so that those who met once do not meet again.
            await asyncio.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, LONGEST_PAUSE_SEC)


def _passes(error: Exception) -> bool:
    if isinstance(error, asyncpg.ForeignKeyViolationError):
        return str(error.constraint_name) == SHARED_WAIT
    return not isinstance(error, ValueError)  # asyncpg words a wrong argument as an InterfaceError


@asynccontextmanager
async def connected(
    url: str, *, pool_size: int = 10, statement_timeout_sec: float = 30, pooler: bool = False, patience_sec: float = 30
) -> AsyncIterator[Database]:
    """Open a pool for as long as the block runs."""
    pool = await asyncpg.create_pool(
        url,
        min_size=1,
        max_size=pool_size,
        command_timeout=statement_timeout_sec + 5,
        statement_cache_size=0 if pooler else 200,
        # Behind a transaction pooler these would reach whoever uses the connection next.
        server_settings={} if pooler else session_settings(statement_timeout_sec),
    )
    try:
        yield Database(pool, patience_sec)
    finally:
        await pool.close()


def session_settings(statement_timeout_sec: float) -> dict[str, str]:
    """What every session of the engine asks for: no statement and no lock holds others up for long."""
    return {
        "application_name": "bide",
        "jit": "off",
        "lock_timeout": "5s",
        "statement_timeout": f"{int(statement_timeout_sec * 1000)}ms",
        "idle_in_transaction_session_timeout": "10s",
        "default_transaction_isolation": "read committed",
        "timezone": "UTC",
    }
