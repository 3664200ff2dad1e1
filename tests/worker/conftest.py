"""What the tests of the worker share."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from bide.store.database import Database
from tests.worker.stage import Stage


@pytest.fixture
async def stage(database: str, db: Database, tmp_path: Path) -> AsyncIterator[Stage]:
    """A database with a DAG, a folder for its tasks, and nobody at work yet."""
    connection = await asyncpg.connect(database)
    yield Stage(database, db, connection, tmp_path)
    await connection.close()
