"""`bide connections`: URIs and JSON, and nobody sees a password who has not asked for it."""

from pathlib import Path

import asyncpg
import pytest

from tests.cli.person import Person

URI = "postgresql://me:hu%40sh@db.example.org:5433/sales?sslmode=require&api_token=hush2"
JSON = '{"conn_type": "http", "host": "h", "password": "hush", "extra": {"timeout": 3, "secret_id": "hush2"}}'


async def test_a_connection_is_stored_shown_and_removed(person: Person, database: str) -> None:
    assert (await person.says("connections", "list")).err == "There are no connections.\n"
    added = await person.done("connections", "add", "warehouse", URI, "--description", "All sales")
    assert added == ["warehouse: stored"]
    assert await person.done("connections", "list") == [
        "connection type what it is for",
        "warehouse postgres All sales",
    ]
    assert (await person.says("connections", "list", "-o", "json")).json() == [
        {"conn_id": "warehouse", "conn_type": "postgres", "description": "All sales"}
    ]
    assert await person.done("connections", "get", "warehouse") == [
        "connection warehouse",
        "what it is for All sales",
        "type postgres",
        "host db.example.org",
        "port 5433",
        "login me",
        "password ***",
        "schema sales",
        "sslmode require",
        "api_token ***",
    ]
    connection = await asyncpg.connect(database)
    assert "hush" not in await connection.fetchval("select sealed from connection")
    await connection.close()
    assert "with its secrets. Nobody is here" in await person.refused("connections", "delete", "warehouse")
    assert await person.done("connections", "delete", "warehouse", "-y") == ["warehouse: removed"]
    assert "There is no connection 'warehouse'" in await person.refused("connections", "get", "warehouse")


async def test_secrets_are_shown_to_whoever_asks_for_them(person: Person) -> None:
    await person.done("connections", "add", "warehouse", URI)
    hidden = await person.says("connections", "get", "warehouse", "-o", "json")
    assert "hush" not in hidden.out
    assert "sh@db" not in hidden.out
    assert hidden.json()["password"] == "***"
    shown = (await person.says("connections", "get", "warehouse", "--show", "-o", "json")).json()
    assert (shown["password"], shown["extra"]) == ("hu@sh", {"sslmode": "require", "api_token": "hush2"})
    assert "password hu@sh" in await person.done("connections", "get", "warehouse", "--show")
    assert await person.done("connections", "get", "warehouse", "--show", "--text") == [URI]
    assert "say --show too" in await person.refused("connections", "get", "warehouse", "--text", code=2)


async def test_a_connection_may_be_json_from_a_file(person: Person, tmp_path: Path) -> None:
    (tmp_path / "api.json").write_text(JSON)
    await person.done("connections", "add", "api", "@api.json")
    told = (await person.says("connections", "get", "api", "-o", "json")).json()
    assert (told["conn_type"], told["password"], told["extra"]) == ("http", "***", {"timeout": 3, "secret_id": "***"})


async def test_one_that_is_there_is_only_replaced_on_purpose(person: Person) -> None:
    await person.done("connections", "add", "api", "http://one")
    assert "--replace puts this one in its place" in await person.refused("connections", "add", "api", "http://two")
    await person.done("connections", "add", "api", "http://two", "--replace")
    assert (await person.says("connections", "get", "api", "-o", "json")).json()["host"] == "two"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hush", "A connection is a URI such as"),
        ("postgres://me:hu@sh:x/y@host/db", "This is no URI."),
        ('{"hush": ', "begins like a JSON object, but is none"),
        ('{"conn_type": "x", "port": "hush"}', "begins like a JSON object, but is none"),
        ('{"conn_type": 3}', "no object with the fields of one"),
        ('{"conn_type": "x", "extra": "hush"}', "extra must be a JSON object"),
    ],
)
async def test_what_is_no_connection_is_refused_and_never_repeated(person: Person, text: str, why: str) -> None:
    refusal = await person.refused("connections", "add", "bad", text)
    assert why in refusal
    assert "hush" not in refusal
    assert "hu@sh" not in refusal


async def test_unknown_ids_are_refused_with_the_near_one(person: Person) -> None:
    await person.done("connections", "add", "warehouse", "http://one")
    for command in ("get", "delete"):
        assert "did you mean 'warehouse'?" in await person.refused("connections", command, "werehouse")
