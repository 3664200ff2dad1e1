"""What the tests of the store share: a bare connection beside the engine's own, and a scene on it."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.store.scene import Scene
from tests.store.scene import scene as set_scene


@pytest.fixture
async def connection(database: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection to the test's database for what a test arranges and looks at."""
    opened = await asyncpg.connect(database)
    yield opened
    await opened.close()


@pytest.fixture
async def scene(connection: "asyncpg.Connection[asyncpg.Record]") -> Scene:
    """The place for rows in any state."""
    return await set_scene(connection)
