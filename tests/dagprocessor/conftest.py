"""A DAG processor at work: real children, a real folder, a real database."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bide.dagprocessor.service import DagProcessor
from bide.process.program import Stop, ground, serve
from bide.settings import Settings
from bide.settings.declared import Core
from bide.settings.declared import DagProcessor as Given
from tests.meta.tree import ROOT
from tests.process.eventually import eventually

LOADER = "tests.dagprocessor.loader"
WITHIN_SEC = 30
HEAD = f"from {LOADER} import dag  # bide\n"


def dag_file(*dag_ids: str, more: str = "", **settings: Any) -> str:
    """Write a DAG file with such DAGs."""
    given = "".join(f", {name}={value!r}" for name, value in settings.items())
    return HEAD + "".join(f"dag({dag_id!r}{given})\n" for dag_id in dag_ids) + more


class Bed:
    """A folder of DAG files, and what the database says about it."""

    def __init__(self, folder: Path, connection: Any) -> None:
        self.folder = folder
        self.connection = connection

    def write(self, path: str, text: str | bytes) -> Path:
        """Save a file."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    async def errors(self) -> dict[str, str]:
        """Read the error of each file that has one."""
        return dict(await self.connection.fetch("select fileloc, error from import_error"))

    async def dags(self) -> dict[str, int]:
        """Read the DAGs that are there, each with the number of its latest version."""
        return dict(
            await self.connection.fetch(
                "select d.dag_id, v.number from dag d join dag_version v on v.id = d.version_id where d.gone_at is null"
            )
        )

    async def plan(self, dag_id: str) -> str:
        """Read the latest plan of a DAG."""
        return str(
            await self.connection.fetchval(
                "select v.plan from dag d join dag_version v on v.id = d.version_id where d.dag_id = $1", dag_id
            )
        )

    async def has(self, **dags: int) -> None:
        """Wait until exactly these DAGs are there, in these versions."""
        await self.becomes(self.dags, dags)

    async def fails(self, **errors: str) -> None:
        """Wait until exactly these files (without their endings) have errors that say this."""

        async def as_said() -> bool:
            found = await self.errors()
            return found.keys() == {f"{name}.py" for name in errors} and all(
                said in found[f"{name}.py"] for name, said in errors.items()
            )

        try:
            await eventually(as_said, WITHIN_SEC)
        except AssertionError:
            raise AssertionError(f"{await self.errors()} is not {errors}") from None

    async def becomes(self, look: Callable[[], Any], expected: object) -> None:
        """Wait until a look at the database shows this."""
        try:
            await eventually(lambda: self._is(look, expected), WITHIN_SEC)
        except AssertionError:
            raise AssertionError(f"{await look()} is not {expected}; errors: {await self.errors()}") from None

    async def _is(self, look: Callable[[], Any], expected: object) -> bool:
        return bool(await look() == expected)


@pytest.fixture
async def bed(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bed]:
    """An empty folder and an empty database."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    folder = tmp_path / "dags"
    folder.mkdir()
    connection = await asyncpg.connect(database)
    yield Bed(folder, connection)
    await connection.close()


@pytest.fixture
def at_work(bed: Bed, database: str) -> Any:
    """A context in which a processor is at work on the folder; takes settings of dag_processor."""

    @asynccontextmanager
    async def working(**given: Any) -> AsyncIterator[DagProcessor]:
        settings = Settings(
            core=Core(dags_dir=bed.folder, data_dir=bed.folder.parent),
            dag_processor=Given(**{"parsing_processes": 2} | given),
        )
        async with ground(settings, database, []) as place:
            processor, stop = DagProcessor(place, LOADER), Stop()
            serving = asyncio.create_task(serve(place, [processor], stop))
            try:
                yield processor
            finally:
                stop()
                await serving

    return working
