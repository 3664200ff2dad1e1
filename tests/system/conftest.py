"""A database that knows the DAGs of these tests: read once by a real DAG processor, then copied."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.conftest import Server, database_url, fresh
from tests.process.eventually import eventually
from tests.system.site import PATIENCE_SEC, Site, site


@pytest.fixture(scope="session")
def knowing(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a template that knows the DAGs. It goes with the run, as all databases that begin with its name."""
    name = f"{server.template}_{os.getpid()}_knowing"
    asyncio.run(make_template(server, name, tmp_path_factory.mktemp("knowing")))
    return name


async def make_template(server: Server, name: str, folder: Path) -> None:
    """Let a DAG processor read the DAGs into a database, and forget that it did."""
    admin = await asyncpg.connect(server.url)
    await admin.execute(f"create database {name}")
    await admin.close()
    async with site(database_url(server.url, name), folder) as here:
        assert await here.start("db", "migrate").ended() == 0
        processor = here.start("dag-processor")

        async def has_read() -> bool:
            assert processor.is_alive, processor.log.read_text()
            return bool(await here.hand.fetchval("select count(*) = 3 from dag"))

        await eventually(has_read, PATIENCE_SEC)
        processor.process.terminate()
        assert await processor.ended() == 0
        await here.hand.execute("truncate job, history restart identity")


@pytest.fixture
async def here(server: Server, knowing: str, tmp_path: Path) -> AsyncIterator[Site]:
    """A site without any service."""
    async for url in fresh(server, knowing):
        async with site(url, tmp_path) as made:
            yield made
