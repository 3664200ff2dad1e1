"""A real PostgreSQL for every test: one server for the whole run, one fresh database for each test that asks."""

import asyncio
import itertools
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from bide import embedded
from bide.sql import schema
from bide.store.database import Database, connected

# The tests kill no power supply: what they check is not lost when a test server is.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_wal_size": "1GB"}
# A database is three hundred small files, which a disk takes a hundred times as long to copy as memory does.
IN_MEMORY = Path("/dev/shm")
ROOM_FOR_A_RUN = 4 * 2**30
# Databases of runs that are gone: a run holds a connection under its name, and its databases begin with that name.
LEFT_BEHIND = r"""
    select d.datname from pg_database d
    where d.datname like 'bide\_test\_%' and d.datdba = current_user::regrole and not exists (
        select from pg_stat_activity run
        where run.application_name like 'bide\_test\_%' and starts_with(d.datname, run.application_name))
"""

_open = ExitStack()
_numbers = itertools.count()


@dataclass(frozen=True)
class Server:
    """A server with the template database of this run on it; the template's name is the name of the run."""

    url: str
    template: str


def start_server() -> Server:
    """Give a server to the whole run, until pytest is about to end."""
    url = os.environ.get("BIDE_TEST_DATABASE_URL")
    if not url:
        folder = _open.enter_context(tempfile.TemporaryDirectory(prefix="bide-tests-", dir=quick_folder()))
        url = _open.enter_context(embedded.running(Path(folder) / "postgres", settings=FAST)).url
    server = Server(url, f"bide_test_{secrets.token_hex(6)}")
    runner = _open.enter_context(asyncio.Runner())
    admin = runner.run(make_template(server))
    _open.callback(lambda: runner.run(end_run(admin)))
    return server


def quick_folder() -> Path | None:
    """Find a folder in memory, if this machine has one with room enough; else any temporary folder will do."""
    has_room = IN_MEMORY.is_dir() and os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free
    return IN_MEMORY if has_room > ROOM_FOR_A_RUN else None


async def make_template(server: Server) -> asyncpg.Connection:
    """Tidy up after runs that were killed, and make the database that those of this run are copies of."""
    admin = await asyncpg.connect(server.url, server_settings={"application_name": server.template})
    await drop_left_behind(admin)
    await admin.execute(f"create database {server.template}")
    connection = await asyncpg.connect(database_url(server.url, server.template))
    await connection.execute(schema())
    await connection.close()
    return admin


async def end_run(admin: asyncpg.Connection) -> None:
    """Give up the name of the run, and drop what is left of it."""
    await admin.execute("set application_name = 'bide tests'")
    await drop_left_behind(admin)
    await admin.close()


async def drop_left_behind(admin: asyncpg.Connection) -> None:
    for row in await admin.fetch(LEFT_BEHIND):
        await admin.execute(f'drop database if exists "{row["datname"]}" with (force)')


def database_url(url: str, name: str) -> str:
    """Return the address of another database on the same server."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def pytest_configure_node(node: object) -> None:
    """Let all of xdist's processes use one server."""
    config = node.config  # type: ignore[attr-defined]
    if not hasattr(config, "server"):
        config.server = start_server()
    node.workerinput["server"] = asdict(config.server)  # type: ignore[attr-defined]


def pytest_unconfigure() -> None:
    _open.close()


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Server:
    """The server of this run."""
    given = getattr(request.config, "workerinput", {}).get("server")
    return Server(**given) if given else start_server()


@pytest.fixture(scope="session")
def server_url(server: Server) -> str:
    """The address of the server of this run."""
    return server.url


@pytest.fixture
async def empty_database(server: Server) -> AsyncIterator[str]:
    """The address of a fresh database without any table."""
    async for url in fresh(server, "template1"):
        yield url


@pytest.fixture
async def database(server: Server) -> AsyncIterator[str]:
    """The address of a fresh database with the whole schema and nothing in it."""
    async for url in fresh(server, server.template):
        yield url


async def fresh(server: Server, template: str) -> AsyncIterator[str]:
    """Make a copy of a template for as long as somebody uses it."""
    name = f"{server.template}_{os.getpid()}_{next(_numbers)}"
    admin = await asyncpg.connect(server.url)
    try:
        # Older servers know no other strategy than copying files, and no word for it.
        strategy = "strategy file_copy" if admin.get_server_version() >= (15,) else ""
        await admin.execute(f"create database {name} template {template} {strategy}")
        yield database_url(server.url, name)
        await admin.execute(f"drop database {name} with (force)")
    finally:
        await admin.close()


@pytest.fixture
async def db(database: str) -> AsyncIterator[Database]:
    """The engine's way to a fresh database."""
    async with connected(database, pool_size=4, patience_sec=5) as opened:
        yield opened
