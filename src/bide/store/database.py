"""The one way to the database: a pool of connections, and the retry of what may be repeated without harm.

Every verb is one statement, guarded by a fence, so it may be sent again whenever it is not known whether it was
carried out: if it was, the second time changes nothing. That is why the retry stands here, once, for all of them.

A verb whose answer was lost with the connection is so answered with no rows, although it was carried out. Whoever lets
go of something drops it then, and that is right. Whoever *takes* something does not know that it has it: the legs of
`start` stand in `legs_of`, and the waits of `claim` in `waits_of`. So every holder compares these views with what it
knows from time to time, and gives back what it does not know. What `enqueue` handed out stands in `offered`; a second
`register` leaves a job behind that never beats and is buried.
"""

import asyncio
import logging
import os
import random
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from bide.errors import DatabaseUnavailable, MigrationError
from bide.sql import statement
from bide.store.failpoints import VARIABLE, FailPoints
from bide.store.rows import Changed, changed

log = logging.getLogger(__name__)

# What passes by itself: a conflict with another transaction, a connection that was cut, a server that restarts, is
# full, or only reads because it is about to hand over.
PASSING = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
# What only a person can mend.
REFUSED = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.ClientConfigurationError,
    ssl.SSLCertVerificationError,
)
# The statements are those of the schema, so a name that PostgreSQL does not know is missing in the database.
NOT_THERE = (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError, asyncpg.UndefinedFunctionError)
# Violated by those who join a shared wait in the moment it ends; the second look sees them.
SHARED_WAIT = "task_instance_waits_for_fkey"
FIRST_PAUSE_SEC = 0.005
LONGEST_PAUSE_SEC = 1.0
# PostgreSQL gives up on a statement by itself; when even that is not heard of, nobody is at the other end.
ANSWER_WITHIN = 1.2


class Database:
    """A pool of connections to one database, and the count of what was repeated and refused."""

    def __init__(
        self, pool: "asyncpg.Pool[asyncpg.Record]", patience_sec: float, fail_points: FailPoints | None = None
    ) -> None:
        self._pool = pool
        self._patience_sec = patience_sec
        self._fail_points = fail_points or FailPoints()
        self.retries = 0
        self.stale_writes: Counter[str] = Counter()

    async def verb(self, name: str, who: str, items: Sequence[object], *arguments: Any) -> list[Changed]:
        """Say a verb about some items. What comes back was changed; what does not was no longer the caller's."""
        if not items:
            return []
        answer = changed(await self.rows(name, who, *arguments))
        self.refused(name, who, len(items) - len(answer))
        return answer

    def refused(self, name: str, who: str, number: int) -> None:
        """Count what a verb did not change, because it was no longer the caller's."""
        if number > 0:
            self.stale_writes[name] += number
            log.debug("%d refused of %s by %s.", number, name, who)

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
                self._fail_points.before(name)
                found = await self._fetch(text, arguments, deadline - loop.time())
                self._fail_points.after(name, found)
                return found
            except REFUSED as error:
                raise DatabaseUnavailable(
                    f"PostgreSQL cannot be used: {error}. Correct the user, the password, the name of the database "
                    "or the certificates in database.url."
                ) from error
            except NOT_THERE as error:
                raise MigrationError(
                    f"The database has not the shape that this Bide needs: {error}. Run `bide db migrate`."
                ) from error
            except (*PASSING, asyncpg.ForeignKeyViolationError) as error:
                if not _passes(error):
                    raise
                if self._pool.is_closing() or loop.time() + pause > deadline:
                    raise DatabaseUnavailable(
                        f"PostgreSQL did not carry out {name!r} within {self._patience_sec:g} s: "
                        f"{str(error) or 'no answer, or no free connection'}. "
                        "See whether the server of database.url runs and has room."
                    ) from error
            self.retries += 1
            # Jitter, so that those who met once do not meet again.
            await asyncio.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, LONGEST_PAUSE_SEC)

    async def _fetch(self, text: str, arguments: Sequence[Any], within_sec: float) -> list[asyncpg.Record]:
        async with self._pool.acquire(timeout=within_sec) as connection:
            try:
                found: list[asyncpg.Record] = await connection.fetch(text, *arguments)
                return found
            except (TimeoutError, asyncio.CancelledError):
                # Given back it would wait for an answer, perhaps from nobody.
                connection.terminate()
                raise


def _passes(error: Exception) -> bool:
    if isinstance(error, asyncpg.ForeignKeyViolationError):
        return str(error.constraint_name) == SHARED_WAIT
    return not isinstance(error, ValueError)  # asyncpg words a wrong argument as an InterfaceError


@asynccontextmanager
async def connected(
    url: str, *, pool_size: int = 10, statement_timeout_sec: float = 10, pooler: bool = False, patience_sec: float = 30
) -> AsyncIterator[Database]:
    """Open a pool for as long as the block runs; it connects when the first statement is run."""
    answer_within_sec = statement_timeout_sec * ANSWER_WITHIN
    async with asyncpg.create_pool(
        url,
        min_size=0,
        max_size=pool_size,
        timeout=answer_within_sec,
        command_timeout=answer_within_sec,
        statement_cache_size=0 if pooler else 200,
        # Behind a transaction pooler these would reach whoever uses the connection next.
        server_settings={} if pooler else session_settings(statement_timeout_sec),
        reset=_nothing_to_reset,
    ) as pool:
        yield Database(pool, patience_sec, FailPoints(os.environ.get(VARIABLE, "")))


async def _nothing_to_reset(_connection: object) -> None:
    """Statements leave nothing behind in their session, so giving it back costs no round trip."""


def session_settings(statement_timeout_sec: float) -> dict[str, str]:
    """What every session of the engine asks for: no statement and no lock holds others up for long."""
    return {
        "application_name": "bide",
        "jit": "off",
        # A plan is kept. One made in a quiet hour, on empty tables, would read all of them in the rush that follows.
        "enable_seqscan": "off",
        # An index of rows that come and go holds more dead entries than live ones. Only a plain scan marks them, so
        # that the next one passes over them.
        "enable_bitmapscan": "off",
        "lock_timeout": f"{int(statement_timeout_sec * 500)}ms",
        "statement_timeout": f"{int(statement_timeout_sec * 1000)}ms",
        "idle_in_transaction_session_timeout": "10s",
        "default_transaction_isolation": "read committed",
        "timezone": "UTC",
    }
