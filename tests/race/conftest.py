"""One database for all races of a process: each race makes its own rows, and a database each would cost too much."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from tests.conftest import Server, fresh
from tests.race.scene import ONCE


@pytest.fixture(scope="session")
def arena(server: Server) -> Iterator[str]:
    """The address of the database in which verbs meet."""
    with asyncio.Runner() as runner:
        databases = fresh(server, server.template)
        url = runner.run(_next(databases))
        runner.run(_prepare(url))
        yield url
        runner.run(_next(databases))


async def _next(databases: AsyncIterator[str]) -> str:
    return await anext(databases, "")


async def _prepare(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(ONCE)
    await connection.close()
