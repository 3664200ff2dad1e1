"""Bring a database to the shape that this program needs; the migrations are the numbered files in sql/migrations/.

Each migration is one transaction: it takes the lock of all migrators, looks what is there, changes it, and records
itself. So two migrators at once do everything once, and one that is killed half way leaves nothing half done.
"""

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import asyncpg
from asyncpg import Connection
from msgspec import Struct

from bide.errors import DatabaseUnavailable, MigrationError
from bide.sql import migrations, statement

OLDEST_SERVER = 14
CONNECT_WITHIN_SEC = 10
# The engine's own transactions are short. What holds a table longer than this is a dump, or a person.
TABLE_LOCK_WITHIN = "5s"


class Applied(Struct, frozen=True):
    """A migration as the database remembers it."""

    number: int
    name: str
    checksum: str

    def __str__(self) -> str:
        """Name it as its file is named."""
        return f"{self.number:04}_{self.name}"


class Migration(Applied, frozen=True):
    """A migration as this program has it."""

    text: str


def known() -> list[Migration]:
    """Return the migrations of this program, in their order."""
    return [
        Migration(number, name, hashlib.sha256(text.encode()).hexdigest(), text) for number, name, text in migrations()
    ]


def pending(had: Sequence[Applied], wanted: Sequence[Migration]) -> list[Migration]:
    """Return what a database lacks. One that did not come here by the same way is refused."""
    for then, now in zip(had, wanted, strict=False):
        if (then.number, then.name) != (now.number, now.name):
            raise MigrationError(
                f"The database has had the migration {then}, where this Bide has {now}: they come from different "
                "versions. Install the Bide that made the database, or make it anew with `bide db reset`."
            )
        if then.checksum != now.checksum:
            raise MigrationError(
                f"The migration {now} has changed since the database had it, so nobody knows its shape. "
                "Install the Bide that made the database, or make it anew with `bide db reset`."
            )
    if len(had) > len(wanted):
        raise MigrationError(
            f"The database is newer than this Bide, which does not know the migration {had[len(wanted)]}. "
            "Install a newer Bide."
        )
    return list(wanted[len(had) :])


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Connection]:
    """Open one connection for a migrator; nothing in it relies on a session, so it may lead through a pooler."""
    try:
        connection = await asyncpg.connect(url, timeout=CONNECT_WITHIN_SEC, statement_cache_size=0)
    except (ValueError, asyncpg.ClientConfigurationError):
        # Its text may hold a piece of a password.
        raise DatabaseUnavailable(
            "The address in database.url cannot be read. Write @, :, / and other special characters of a password as "
            "%40, %3A, %2F and so on."
        ) from None
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailable(
            f"PostgreSQL cannot be reached: {str(error) or 'no answer'}. See whether the server runs, and correct "
            "database.url."
        ) from error
    try:
        version = connection.get_server_version()
        if version.major < OLDEST_SERVER:
            raise MigrationError(f"The server is PostgreSQL {version.major}; Bide needs {OLDEST_SERVER} or newer.")
        yield connection
    except asyncpg.LockNotAvailableError:
        raise MigrationError(
            f"Somebody has been using a table for more than {TABLE_LOCK_WITHIN}, a dump perhaps. Nothing is half done; "
            "run the command again when that is over."
        ) from None
    except (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError) as error:
        raise DatabaseUnavailable(
            f"The connection to PostgreSQL was lost: {str(error) or 'no answer'}. Nothing is half done; run the "
            "command again."
        ) from error
    except asyncpg.PostgresError as error:
        raise MigrationError(f"PostgreSQL refused, and nothing is half done: {error}.") from error
    finally:
        await connection.close(timeout=CONNECT_WITHIN_SEC)


async def missing(connection: Connection, wanted: Sequence[Migration]) -> list[Migration]:
    """Return what the database lacks before this program can use it."""
    return pending(await applied(connection), wanted) if await is_made(connection) else list(wanted)


async def is_made(connection: Connection) -> bool:
    """Say whether the database is Bide's, or an empty one. One that is somebody else's is refused."""
    found = await survey(connection)
    if found["occupied"] and not found["ours"]:
        raise MigrationError(
            f"The database {found['name']} holds tables that are not Bide's: give Bide a database of its own."
        )
    ours: bool = found["ours"]
    return ours


async def migrate(connection: Connection, migration: Migration, wanted: Sequence[Migration]) -> bool:
    """Apply one of the missing migrations; false if somebody else has done it meanwhile."""
    async with alone(connection):
        if migration not in await missing(connection, wanted):
            return False
        await carry_out(connection, migration)
        return True


async def reset(connection: Connection, wanted: Sequence[Migration]) -> None:
    """Drop everything and make it again, in one transaction."""
    async with alone(connection):
        await demolish(connection)
        for migration in wanted:
            await carry_out(connection, migration)


@asynccontextmanager
async def alone(connection: Connection) -> AsyncIterator[None]:
    """Begin a transaction in which no other migrator is at work."""
    async with connection.transaction():
        await limit_waiting(connection, table_lock_within="0")
        await lock_migrations(connection)
        await limit_waiting(connection, table_lock_within=TABLE_LOCK_WITHIN)
        yield


async def carry_out(connection: Connection, migration: Migration) -> None:
    """Run a migration and record it, as a part of the transaction that is going on."""
    try:
        await connection.execute(migration.text)
    except asyncpg.LockNotAvailableError:
        raise
    except asyncpg.PostgresError as error:
        raise MigrationError(f"The migration {migration} failed, and nothing was changed: {error}.") from error
    await record(connection, migration)


async def survey(connection: Connection) -> asyncpg.Record:
    """Look what stands in the database."""
    return await connection.fetchrow(statement("survey").text)


async def applied(connection: Connection) -> list[Applied]:
    """Read which migrations the database has had."""
    return [Applied(**row) for row in await connection.fetch(statement("applied").text)]


async def limit_waiting(connection: Connection, table_lock_within: str) -> None:
    """Set the patience of the transaction that is going on."""
    await connection.execute(statement("limit_waiting").text, table_lock_within)


async def lock_migrations(connection: Connection) -> None:
    """Wait until no other migrator is at work."""
    await connection.execute(statement("lock_migrations").text)


async def record(connection: Connection, migration: Migration) -> None:
    """Write down that a migration is done."""
    await connection.execute(statement("record").text, migration.number, migration.name, migration.checksum)


async def count_runs(connection: Connection) -> int:
    """Count the runs that a reset would lose."""
    number: int = await connection.fetchval(statement("count_runs").text)
    return number


async def at_work(connection: Connection) -> list[str]:
    """Name the processes that are alive."""
    return [row["process"] for row in await connection.fetch(statement("at_work").text)]


async def demolish(connection: Connection) -> None:
    """Drop every table and function."""
    await connection.execute(statement("demolish").text)
