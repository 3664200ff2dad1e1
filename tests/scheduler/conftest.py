"""A town for each test."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from bide.store.database import Database
from tests.scheduler.town import Town, new_town


@pytest.fixture
async def town(db: Database, database: str) -> AsyncIterator[Town]:
    """A scheduler and a worker that the test plays."""
    connection = await asyncpg.connect(database)
    yield await new_town(db, connection)
    await connection.close()
