"""`bide db` as a person runs it, on a server of their own."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bide.store import jobs, migrations
from bide.store.database import connected
from tests.process.ask import ask, somebody_waits_for_a_lock
from tests.process.command import ended, ran, started
from tests.process.eventually import eventually
from tests.store.catalog import description

MADE = [f"{migration}: done\n" for migration in migrations.known()]
JOB = jobs.NewJob(job_type=jobs.JobType.WORKER, hostname="here")


async def bide(here: Path, url: str, *arguments: str) -> tuple[int, str, str]:
    """Run a command on a database, and see that nobody hears its password."""
    code, said, complained = await asyncio.to_thread(ran, here, *arguments, environ={"BIDE_DATABASE_URL": url})
    assert str(urlsplit(url).password) not in said + complained
    return code, said, complained


def named(url: str) -> str:
    password = urlsplit(url).password
    return f"database {url.replace(f':{password}@', ':***@')}"


async def runs(url: str) -> int:
    async with migrations.opened(url) as connection:
        return await migrations.count_runs(connection)


@pytest.fixture
async def used(database: str) -> str:
    """A database with a run in it."""
    await ask(
        database,
        "with dag as (insert into dag (dag_id) values ('d')), had as ("
        f" insert into migration values (1, 'heart', '{migrations.known()[0].checksum}', now()))"
        " insert into dag_run (dag_id, run_id, queued_at) values ('d', 'r', now())",
    )
    return database


async def test_a_database_is_made_once_and_then_up_to_date(tmp_path: Path, empty_database: str, database: str) -> None:
    here, name = tmp_path, named(empty_database)
    code, said, complained = await bide(here, empty_database, "db", "check")
    names = ", ".join(str(migration) for migration in migrations.known())
    assert (code, said) == (1, "")
    assert complained == f"Error: The {name} lacks {names}: run `bide db migrate`.\n"
    done = f"The {name} is up to date.\n"
    assert await bide(here, empty_database, "db", "migrate") == (0, "".join(MADE) + done, "")
    assert await bide(here, empty_database, "db", "migrate") == (0, done, "")
    assert await bide(here, empty_database, "db", "check") == (0, done, "")
    assert await description(empty_database) == await description(database)
    assert list(here.iterdir()) == []


async def test_of_two_commands_at_once_both_end_well_and_one_has_done_it(tmp_path: Path, empty_database: str) -> None:
    ends = await asyncio.gather(*(bide(tmp_path, empty_database, "db", "migrate") for _ in range(2)))
    assert [code for code, _, _ in ends] == [0, 0]
    assert sum(said.count(": done") for _, said, _ in ends) == len(MADE)


async def test_a_reset_asks_first_and_refuses_where_nobody_can_answer(tmp_path: Path, used: str) -> None:
    code, said, complained = await bide(tmp_path, used, "db", "reset")
    assert (code, said) == (1, "")
    assert complained == (
        f"Error: A reset drops 1 run and everything else in the {named(used)}. Nobody is here to be asked: use --yes.\n"
    )
    assert await runs(used) == 1


def answered(here: Path, url: str, answer: str) -> tuple[int, str, str]:
    """Run a reset at a terminal at which somebody answers."""
    ours, theirs = os.openpty()
    try:
        process = started(here, "db", "reset", environ={"BIDE_DATABASE_URL": url}, stdin=theirs)
        os.write(ours, answer.encode())
        return ended(process)
    finally:
        os.close(ours)
        os.close(theirs)


async def test_a_person_can_still_say_no(tmp_path: Path, used: str) -> None:
    for answer in ("n\n", "\n"):
        code, said, complained = await asyncio.to_thread(answered, tmp_path, used, answer)
        assert (code, complained) == (1, "")
        assert said.startswith(f"A reset drops 1 run and everything else in the {named(used)}. Go on?")
        assert said.endswith("Nothing was changed.\n")
        assert await runs(used) == 1


async def test_a_reset_makes_the_database_anew_once_somebody_has_said_yes(tmp_path: Path, used: str) -> None:
    code, said, complained = await asyncio.to_thread(answered, tmp_path, used, "y\n")
    assert (code, complained) == (0, "")
    assert said.endswith("is as new.\n")
    assert await runs(used) == 0
    # Now nothing but an empty database would be lost; that is asked for all the same.
    assert (await bide(tmp_path, used, "db", "reset"))[0] == 1
    assert await bide(tmp_path, used, "db", "reset", "--yes") == (0, f"The {named(used)} is as new.\n", "")


async def test_a_reset_makes_a_database_where_there_was_none(tmp_path: Path, empty_database: str) -> None:
    assert (await bide(tmp_path, empty_database, "db", "reset"))[0] == 0
    assert (await bide(tmp_path, empty_database, "db", "check"))[0] == 0


async def test_a_reset_is_refused_while_processes_are_at_work_unless_forced(tmp_path: Path, used: str) -> None:
    async with connected(used) as db:
        number = await jobs.register(db, "test", JOB)
    code, said, complained = await bide(tmp_path, used, "db", "reset", "--yes")
    assert (code, said) == (1, "")
    assert complained == f"Error: At work on it: WorkerJob {number} on here. Stop them first, or use --force.\n"
    assert await runs(used) == 1
    # Force is about the processes; whether the runs may go is another question.
    assert "use --yes" in (await bide(tmp_path, used, "db", "reset", "--force"))[2]
    assert (await bide(tmp_path, used, "db", "reset", "--force", "--yes"))[0] == 0
    assert await runs(used) == 0


async def test_somebody_elses_database_is_left_alone(tmp_path: Path, empty_database: str) -> None:
    await ask(empty_database, "create table dag_run (id integer)")
    for command in (["migrate"], ["check"], ["reset", "--yes", "--force"]):
        code, said, complained = await bide(tmp_path, empty_database, "db", *command)
        assert (code, said) == (1, "")
        assert complained.endswith("holds tables that are not Bide's: give Bide a database of its own.\n")


async def test_a_server_that_is_not_there_is_said_in_one_sentence(tmp_path: Path) -> None:
    code, said, complained = await bide(tmp_path, "postgresql://me:hush@127.0.0.1:1/x", "db", "migrate")
    assert (code, said) == (1, "")
    assert complained.startswith("Error: PostgreSQL cannot be reached: ")
    assert complained.count("\n") == 1


@asynccontextmanager
async def waiting_migrator(here: Path, url: str) -> AsyncIterator[subprocess.Popen[str]]:
    """A command that waits because another migrator is at work."""
    async with migrations.opened(url) as other, migrations.alone(other):
        process = started(here, "db", "migrate", environ={"BIDE_DATABASE_URL": url})
        await eventually(lambda: somebody_waits_for_a_lock(url), 30)
        yield process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
async def test_a_command_that_is_interrupted_leaves_nothing_half_done(
    tmp_path: Path, empty_database: str, number: signal.Signals, code: int
) -> None:
    async with waiting_migrator(tmp_path, empty_database) as process:
        process.send_signal(number)
        assert await asyncio.to_thread(ended, process) == (code, "", "")
    assert not [name for kind, name in await description(empty_database) if kind == "rows"]
    assert (await bide(tmp_path, empty_database, "db", "migrate"))[0] == 0


async def test_a_server_that_goes_away_meanwhile_is_said_in_one_sentence(tmp_path: Path, empty_database: str) -> None:
    async with waiting_migrator(tmp_path, empty_database) as process:
        await ask(
            empty_database,
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where wait_event_type = 'Lock' and datname = current_database()",
        )
        code, said, complained = await asyncio.to_thread(ended, process)
    assert (code, said) == (1, "")
    assert complained.startswith("Error: The connection to PostgreSQL was lost: ")
    assert complained.endswith("Nothing is half done; run the command again.\n")
