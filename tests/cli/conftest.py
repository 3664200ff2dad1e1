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
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Somebody in an empty folder, without a database."""
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "200", "USER": "ada", "LOGNAME": "ada"}.items():
        monkeypatch.setenv(name, value)
    return Person(monkeypatch)


@pytest.fixture
def person(newcomer: Person, monkeypatch: pytest.MonkeyPatch, database: str) -> Person:
    """Somebody with a database whose server runs elsewhere."""
    monkeypatch.setenv("BIDE_DATABASE_URL", database)
    return newcomer


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
