"""A real PostgreSQL for every test: one server for the whole run, one fresh database for each test that asks."""

import asyncio
import itertools
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from bide import embedded
from bide.sql import read
from bide.store.database import Database, connected

TEMPLATE = "bide_test_template"
# The tests kill no power supply: what they check is not lost when a test server is.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_wal_size": "4GB"}

_open = ExitStack()
_numbers = itertools.count()


def start_server() -> str:
    """Give the address of a server with the template database in it."""
    url = os.environ.get("BIDE_TEST_DATABASE_URL")
    if not url:
        folder = _open.enter_context(tempfile.TemporaryDirectory(prefix="bide-tests-"))
        url = _open.enter_context(embedded.running(Path(folder) / "postgres", settings=FAST)).url
    asyncio.run(make_template(url))
    return url


async def make_template(url: str) -> None:
    admin = await asyncpg.connect(url)
    try:
        await admin.execute(f"drop database if exists {TEMPLATE} with (force)")
        await admin.execute(f"create database {TEMPLATE}")
    finally:
        await admin.close()
    connection = await asyncpg.connect(database_url(url, TEMPLATE))
    try:
        await connection.execute(read("schema.sql"))
    finally:
        await connection.close()


def database_url(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def pytest_configure_node(node: object) -> None:
    """Let all of xdist's processes use one server."""
    config = node.config  # type: ignore[attr-defined]
    if not hasattr(config, "server_url"):
        config.server_url = start_server()
    node.workerinput["server_url"] = config.server_url  # type: ignore[attr-defined]


def pytest_unconfigure() -> None:
    _open.close()


@pytest.fixture(scope="session")
def server_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of the server of this run."""
    given = getattr(request.config, "workerinput", {}).get("server_url")
    yield given or start_server()


@pytest.fixture
async def database(server_url: str) -> AsyncIterator[str]:
    """The address of a fresh database with the whole schema and nothing in it."""
    name = f"bide_test_{os.getpid()}_{next(_numbers)}"
    admin = await asyncpg.connect(server_url)
    try:
        await admin.execute(f"create database {name} template {TEMPLATE} strategy file_copy")
        yield database_url(server_url, name)
        await admin.execute(f"drop database {name} with (force)")
    finally:
        await admin.close()


@pytest.fixture
async def db(database: str) -> AsyncIterator[Database]:
    """The engine's way to a fresh database."""
    async with connected(database, pool_size=4, patience_sec=5) as opened:
        yield opened
