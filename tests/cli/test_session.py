"""How a command reaches the engine, and what it says where it cannot."""

import asyncio
import os
import signal
from pathlib import Path

import asyncpg
import pytest

from bide.control import rewriting
from tests.cli.person import Person
from tests.process.command import ended, ran, started
from tests.process.eventually import eventually
from tests.scheduler.town import Town, dag, task

EVERY_READER = [
    ["status"],
    ["dags", "list"],
    ["runs", "list"],
    ["tasks", "list", "x"],
    ["pools", "list"],
    ["variables", "list"],
    ["connections", "list"],
]


@pytest.mark.parametrize("command", EVERY_READER)
def test_nobody_who_only_looks_makes_a_database(newcomer: Person, tmp_path: Path, command: list[str]) -> None:
    said = newcomer.say(*command)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"Error: There is no database in {tmp_path}/.bide yet.")
    assert list(tmp_path.iterdir()) == []


async def test_a_database_without_tables_is_said(
    newcomer: Person, empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BIDE_DATABASE_URL", empty_database)
    for command in EVERY_READER:
        assert "Run `bide db migrate`." in await newcomer.refused(*command)


def test_a_server_that_is_not_there_is_said_soon(newcomer: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIDE_DATABASE_URL", "postgresql://me:hush@127.0.0.1:1/x")
    said = newcomer.say("pools", "list")
    assert said.code == 1
    assert "within 5 s" in said.err
    assert "hush" not in said.err


def test_words_that_are_no_text_are_wrong_usage(newcomer: Person) -> None:
    said = newcomer.say("dags", "show", "\udcff")
    assert (said.code, said.out) == (2, "")
    assert "is not UTF-8 text" in said.err


def test_wrong_settings_are_said(newcomer: Person) -> None:
    said = newcomer.say("--set", "database.pol=3", "pools", "list")
    assert (said.code, said.err) == (
        1,
        "Error: --set: there is no setting database.pol; did you mean database.pooler?\n",
    )


async def test_clearing_that_is_interrupted_says_how_far_it_came(town: Town, database: str, tmp_path: Path) -> None:
    number = rewriting.BATCH + 50
    plan = dag("many", *(task(f"t{place}") for place in range(number)))
    await town.store(plan)
    await town.launch(plan)
    await town.connection.execute("update task_instance set state = 'success', end_date = bide_now()")
    clear = ("tasks", "clear", "many", "run", "--yes")
    # Somebody holds a task of the second batch, so that one waits.
    holder = await asyncpg.connect(database)
    async with holder.transaction():
        await holder.fetch("select from task_instance order by id desc limit 1 for update")
        process = started(tmp_path, *clear, environ={"BIDE_DATABASE_URL": database})
        waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        await eventually(lambda: town.connection.fetchval(waits), 30)
        process.send_signal(signal.SIGINT)
        code, said, complained = await asyncio.to_thread(ended, process)
    await holder.close()
    assert (code, said) == (130, "")
    assert complained == (
        f"Interrupted: {rewriting.BATCH} of {number} tasks cleared, perhaps a few more. Say it again.\n"
    )
    assert (await asyncio.to_thread(ran, tmp_path, *clear, environ={"BIDE_DATABASE_URL": database}))[0] == 0
    assert await town.connection.fetchval("select count(*) from task_instance where state = 'restarting'") == number


async def test_watching_that_is_interrupted_leaves_the_run_alone(town: Town, database: str, tmp_path: Path) -> None:
    plan = dag("slow", task("a"))
    await town.store(plan)
    await town.launch(plan)
    read, write = os.pipe()
    process = started(
        tmp_path,
        "runs",
        "watch",
        "slow",
        "run",
        environ={"BIDE_DATABASE_URL": database, "PYTHONUNBUFFERED": "1"},
        stdout=write,
    )
    os.close(write)
    with os.fdopen(read) as heard:
        assert await asyncio.to_thread(heard.readline) == "2030-01-01 12:00:00Z slow run queued\n"
        process.send_signal(signal.SIGINT)
        code, _, complained = await asyncio.to_thread(ended, process)
    assert code == 130
    assert complained == "The run goes on; `bide runs watch slow run` shows it again.\n"
