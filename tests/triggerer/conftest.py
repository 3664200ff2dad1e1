"""What the tests of the triggerer share."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from bide.store.database import Database
from tests.triggerer.post import Post


@pytest.fixture
async def post(database: str, db: Database, tmp_path: Path) -> AsyncIterator[Post]:
    """A database with a DAG whose tasks wait, and no triggerer yet."""
    connection = await asyncpg.connect(database)
    yield await Post.new(database, db, connection, tmp_path)
    await connection.close()
