"""A database that knows the DAGs of these tests: read once by a real DAG processor, then copied."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.conftest import Server, database_url, fresh
from tests.system.power import power
from tests.system.site import Site, learn, site


@pytest.fixture(scope="session")
def knowing(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a template that knows the DAGs. It goes with the run, as all databases that begin with its name."""
    name = f"{server.template}_{os.getpid()}_knowing"
    asyncio.run(make_template(server, name, tmp_path_factory.mktemp("knowing")))
    return name


async def make_template(server: Server, name: str, folder: Path) -> None:
    """Make a database that knows the DAGs."""
    admin = await asyncpg.connect(server.url)
    await admin.execute(f"create database {name}")
    await admin.close()
    await learn(database_url(server.url, name), folder)


@pytest.fixture(scope="session")
def knowing_server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a server that knows the DAGs and is switched off."""
    folder = tmp_path_factory.mktemp("server")
    with power(folder / "server") as switch:
        asyncio.run(learn(switch.on(), folder))
    return folder / "server"


@pytest.fixture
async def here(server: Server, knowing: str, tmp_path: Path) -> AsyncIterator[Site]:
    """A site without any service."""
    async for url in fresh(server, knowing):
        async with site(url, tmp_path) as made:
            yield made
