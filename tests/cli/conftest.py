"""A person at the command line, and a town whose runs they look at."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from bide.model.plan import DagPlan
from bide.store.database import Database
from tests.cli.person import Person
from tests.scheduler.town import Town, dag, new_town, task


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str) -> Person:
    """Somebody in an empty folder, with a database whose server runs elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BIDE_DATABASE_URL", database)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("USER", "ada")
    monkeypatch.setenv("LOGNAME", "ada")
    return Person(monkeypatch)


@pytest.fixture
async def town(db: Database, database: str) -> AsyncIterator[Town]:
    """A scheduler and a worker that the test plays."""
    connection = await asyncpg.connect(database)
    yield await new_town(db, connection)
    await connection.close()


@pytest.fixture
async def sales(town: Town) -> DagPlan:
    """A small DAG with a run that has not begun: extract, then clean and check, then load."""
    plan = dag(
        "sales", task("extract"), task("clean", "extract"), task("check", "extract"), task("load", "clean", "check")
    )
    await town.store(plan)
    await town.launch(plan)
    return plan
