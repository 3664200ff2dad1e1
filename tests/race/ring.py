"""Two connections that meet, a third that watches, and what the tables look like afterwards."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias, cast

import asyncpg

from bide.store.database import Database, session_settings
from tests.race.scene import Scene, script

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

DEADLINE_SEC = 10.0
# Deadlocks shall show at once, not after the second that PostgreSQL usually waits.
_SETTINGS = {**session_settings(30), "deadlock_timeout": "10ms"}

Picture = Mapping[str, list[dict[str, Any]]]
"""The rows of each table."""

_ORDERS = {
    "task_instance": "id",
    "trigger": "id",
    "kill": "trigger_id",
    "xcom": "dag_id, run_id, task_id, key",
    "callback": "task_instance_id, callback_type",
    "dag_run": "id",
    "job": "id",
    "turn": "number",
    "history": "id",
}
_NUMBERED = ("history", "callback")
_PICTURE = "select json_build_object({})::text".format(
    ", ".join(f"'{table}', (select json_agg(r order by {order}) from {table} r)" for table, order in _ORDERS.items())
)


class Line:
    """One connection where the engine expects its pool: a pool would end the transaction that a race holds open.

    `instead` maps statements to broken ones that are run in their place.
    """

    def __init__(self, connection: Connection, instead: Mapping[str, str]) -> None:
        self._connection = connection
        self._instead = instead
        self.errors: list[str] = []

    @asynccontextmanager
    async def acquire(self, **_: float) -> AsyncIterator["Line"]:
        yield self

    async def fetch(self, text: str, *arguments: Any) -> list[asyncpg.Record]:
        try:
            found: list[asyncpg.Record] = await self._connection.fetch(self._instead.get(text, text), *arguments)
            return found
        except asyncpg.PostgresError as error:
            self.errors.append(type(error).__name__)
            raise

    def terminate(self) -> None:
        self._connection.terminate()

    def is_closing(self) -> bool:
        return bool(self._connection.is_closed())


@dataclass(frozen=True)
class Party:
    """Somebody with one connection: by the engine's functions, or by hand, as for a transaction around a verb."""

    connection: Connection
    pid: int
    db: Database
    errors: list[str]

    async def begin(self) -> None:
        await self.connection.execute("begin")

    async def commit(self) -> None:
        await self.connection.execute("commit")

    async def rollback(self) -> None:
        await self.connection.execute("rollback")


@dataclass(frozen=True)
class Ring:
    """Where two parties meet."""

    first: Party
    second: Party
    watcher: Party
    serial: dict[Any, tuple[object, Picture]] = field(default_factory=dict)

    async def build(self, scene: Scene) -> None:
        """Leave nothing in the database but this scene."""
        await self.watcher.connection.execute(script(scene))

    async def held_up(self, second: "asyncio.Task[object]") -> bool:
        """Wait until the second party stands still because of the first, or is through."""
        async with asyncio.timeout(DEADLINE_SEC):
            while not second.done():
                if self.first.pid in await self.watcher.connection.fetchval(
                    "select pg_blocking_pids($1)", self.second.pid
                ):
                    return True
        return False


async def picture(party: Party) -> Picture:
    """Read all that verbs can change, without the numbers that sequences give."""
    seen = json.loads(await party.connection.fetchval(_PICTURE))
    return {
        table: [{key: row[key] for key in row if key != "id" or table not in _NUMBERED} for row in rows or ()]
        for table, rows in seen.items()
    }


@asynccontextmanager
async def party(url: str, instead: Mapping[str, str]) -> AsyncIterator[Party]:
    """Open a connection for somebody."""
    connection = await asyncpg.connect(url, server_settings=_SETTINGS)
    try:
        line = Line(connection, instead)
        yield Party(connection, connection.get_server_pid(), Database(cast(Any, line), DEADLINE_SEC), line.errors)
    finally:
        await connection.close()


@asynccontextmanager
async def parties(url: str, number: int, instead: Mapping[str, str]) -> AsyncIterator[list[Party]]:
    """Open a connection for each of several."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(party(url, instead)) for _ in range(number)]


@asynccontextmanager
async def ring(url: str, instead: Mapping[str, str] = MappingProxyType({})) -> AsyncIterator[Ring]:
    """Open a ring for as long as the block runs."""
    async with parties(url, 3, instead) as (first, second, watcher):
        yield Ring(first, second, watcher)


async def deadlocks(url: str) -> int:
    """Count the deadlocks that the database has seen; ask on a new connection once the others are closed."""
    connection = await asyncpg.connect(url)
    try:
        count: int = await connection.fetchval(
            "select deadlocks from pg_stat_database where datname = current_database()"
        )
        return count
    finally:
        await connection.close()
