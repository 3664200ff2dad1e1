"""`bide variables`: stored encrypted, read in the clear, carried over by files."""

import json
from pathlib import Path

import asyncpg
import pytest

from bide.sealing import generate_key
from tests.cli.person import Person


async def test_a_variable_is_set_read_and_removed(person: Person, database: str) -> None:
    assert (await person.says("variables", "list")).err == "There are no variables.\n"
    assert await person.done("variables", "set", "region", "eu west", "--description", "Where") == ["region: set"]
    assert (await person.says("variables", "get", "region")).out == "eu west\n"
    assert (await person.says("variables", "get", "region", "-o", "json")).json() == {
        "key": "region",
        "value": "eu west",
    }
    assert await person.done("variables", "list") == ["key what it is for", "region Where"]
    assert (await person.says("variables", "list", "-o", "yaml")).out == "- key: region\n  description: Where\n"
    connection = await asyncpg.connect(database)
    assert "eu west" not in await connection.fetchval("select sealed from variable")
    await connection.close()
    assert "use --yes" in await person.refused("variables", "delete", "region")
    assert await person.done("variables", "delete", "region", typed="y\n")
    assert await person.refused("variables", "get", "region") == (
        "Error: There is no variable 'region'; `bide variables list` shows them."
    )


async def test_unknown_keys_are_refused_with_the_near_one(person: Person) -> None:
    await person.done("variables", "set", "region", "eu")
    for command in ("get", "delete"):
        assert "did you mean 'region'?" in await person.refused("variables", command, "regoin")
    for key in ("", "a\nb", "x" * 251):
        assert "must be printable and have 1 to 250 bytes" in await person.refused("variables", "set", key, "x")


async def test_a_value_may_come_from_a_file_or_by_a_pipe(person: Person, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("two\nlines\n")
    await person.done("variables", "set", "a", "@long.txt")
    await person.says("variables", "set", "b", "-", given="piped")
    assert (await person.says("variables", "get", "a")).out == "two\nlines\n\n"
    assert (await person.says("variables", "get", "b")).out == "piped\n"
    assert "cannot be read" in await person.refused("variables", "set", "a", "@gone.txt", code=2)


async def test_the_first_secret_makes_a_key_that_only_its_owner_reads(person: Person, tmp_path: Path) -> None:
    await person.done("variables", "set", "a", "b")
    key = tmp_path / ".bide" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    before = key.read_text()
    await person.done("variables", "set", "c", "d")
    assert key.read_text() == before


async def test_with_another_key_nothing_is_read(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    await person.done("variables", "set", "a", "secret value")
    monkeypatch.setenv("BIDE_SECURITY__KEYS", generate_key())
    refusal = await person.refused("variables", "get", "a")
    assert refusal.startswith("Error: The only key does not open what is stored")
    assert "does not open" in await person.refused("variables", "export")


async def test_all_are_exported_and_imported(person: Person, tmp_path: Path) -> None:
    await person.done("variables", "set", "plain", "text")
    await person.done("variables", "set", "described", '{"a": 1}', "--description", "JSON")
    everything = {"described": {"value": '{"a": 1}', "description": "JSON"}, "plain": "text"}
    assert json.loads((await person.says("variables", "export")).out) == everything
    said = await person.says("variables", "export", "all.json")
    assert (said.out, said.err) == ("", "2 variables written to all.json, readable by you alone.\n")
    file = tmp_path / "all.json"
    assert file.stat().st_mode & 0o777 == 0o600
    for key in everything:
        await person.done("variables", "delete", key, "--yes")
    assert await person.done("variables", "import", "all.json") == ["2 variables set."]
    assert json.loads((await person.says("variables", "export")).out) == everything


async def test_other_json_is_kept_as_text(person: Person) -> None:
    said = await person.says("variables", "import", "-", given='{"list": [1, 2], "number": 3, "object": {"value": 1}}')
    assert said.out == "3 variables set.\n"
    for key, value in {"list": "[1,2]", "number": "3", "object": '{"value":1}'}.items():
        assert (await person.says("variables", "get", key)).out == f"{value}\n"


@pytest.mark.parametrize(
    ("content", "why"), [("{", "is no JSON"), ("[]", "must be a JSON object"), (None, "cannot be read: No such file")]
)
async def test_a_file_that_is_none_of_variables_is_wrong_usage(
    person: Person, tmp_path: Path, content: str | None, why: str
) -> None:
    if content is not None:
        (tmp_path / "bad.json").write_text(content)
    assert why in await person.refused("variables", "import", "bad.json", code=2)


async def test_a_file_that_cannot_be_written_is_said(person: Person, tmp_path: Path) -> None:
    assert "cannot be written: No such file" in await person.refused("variables", "export", "no/such/folder", code=2)
