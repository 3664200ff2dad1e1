"""Completion in the shell: ids from the database, and nothing at all where there is none."""

from pathlib import Path

import pytest

from bide.model.plan import DagPlan
from tests.cli.person import Person
from tests.scheduler.town import Town


async def completed(person: Person, *words: str) -> list[str]:
    """Press the tabulator behind these words; the last one is not complete."""
    line = {"_BIDE_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(["bide", *words]), "COMP_CWORD": str(len(words))}
    for name, value in line.items():
        person.patch.setenv(name, value)
    said = await person.says()
    assert said.err == ""
    return said.out.split()


async def test_ids_are_completed_where_they_are_expected(person: Person, town: Town, sales: DagPlan) -> None:
    await town.launch(sales, "rerun")
    assert await completed(person, "dags", "show", "sa") == ["sales"]
    assert await completed(person, "dags", "pause", "sales", "s") == ["sales"]
    assert await completed(person, "runs", "list", "s") == ["sales"]
    assert await completed(person, "runs", "show", "sales", "r") == ["rerun", "run"]
    assert await completed(person, "runs", "show", "sales", "l") == ["latest"]
    assert await completed(person, "tasks", "logs", "sales", "run", "c") == ["clean", "check"]
    assert await completed(person, "tasks", "clear", "sales", "run", "clean", "lo") == ["load"]
    assert await completed(person, "pools", "delete", "d") == ["default_pool"]


async def test_keys_and_connections_are_completed(person: Person) -> None:
    await person.done("variables", "set", "region", "eu")
    await person.done("connections", "add", "warehouse", "http://host")
    assert await completed(person, "variables", "get", "re") == ["region"]
    assert await completed(person, "connections", "get", "w") == ["warehouse"]
    assert await completed(person, "connections", "get", "x") == []


async def test_names_of_commands_and_options_are_completed(newcomer: Person) -> None:
    assert await completed(newcomer, "da") == ["dags", "dag-processor"]
    assert await completed(newcomer, "dags", "tr") == ["trigger"]
    assert await completed(newcomer, "runs", "clear", "--only-f") == ["--only-failed"]
    assert await completed(newcomer, "runs", "list", "--state", "fa") == ["failed"]


@pytest.mark.parametrize("url", ["", "postgresql://me@127.0.0.1:1/x", "nonsense"])
async def test_without_a_database_nothing_is_completed_and_nothing_is_made(
    newcomer: Person, tmp_path: Path, url: str
) -> None:
    newcomer.patch.setenv("BIDE_DATABASE_URL", url)
    assert await completed(newcomer, "dags", "show", "s") == []
    assert not (tmp_path / ".bide").exists()
