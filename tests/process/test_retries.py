"""What stands in the way of a statement for a while is waited for, and a statement that is sent again does no harm."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bide import embedded
from bide.errors import DatabaseUnavailable
from bide.sql import schema
from bide.store import holding, jobs, legs, runs, views
from bide.store.database import Database, connected
from bide.store.rows import Leg
from tests.process.alive import cut_power, postmaster, processes_of
from tests.process.eventually import eventually
from tests.process.proxy import wire

JOB = jobs.NewJob(job_type=jobs.JobType.WORKER, hostname="here")
FAILING_TWICE = """
create sequence failures;
create function fail_twice() returns trigger language plpgsql as $$ begin
    if nextval('failures') <= 2 then raise exception 'on purpose' using errcode = '{code}'; end if;
    return new;
end $$;
create trigger fail_twice before insert on job for each row execute function fail_twice();
"""


@asynccontextmanager
async def connection_to(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.mark.parametrize(
    "code", ["40001", "40P01", "55P03", "57014", "57P01", "57P03", "08006", "53100", "53200", "53300", "25006"]
)
async def test_what_passes_by_itself_is_tried_again(database: str, db: Database, code: str) -> None:
    async with connection_to(database) as admin:
        await admin.execute(FAILING_TWICE.format(code=code))
    assert await jobs.register(db, "test", JOB) > 0
    assert db.retries == 2


@pytest.mark.parametrize("code", ["40001", "53100", "25006"])
async def test_patience_ends_with_a_sentence(database: str, code: str) -> None:
    async with connection_to(database) as admin:
        await admin.execute(FAILING_TWICE.format(code=code).replace("<= 2", "<= 1000000"))
    async with connected(database, patience_sec=1) as db:
        with pytest.raises(DatabaseUnavailable, match=r"did not carry out 'register' within 1 s: on purpose. See"):
            await jobs.register(db, "test", JOB)
        assert db.retries > 1


async def test_our_own_mistakes_are_neither_tried_again_nor_dressed_up(db: Database) -> None:
    with pytest.raises(asyncpg.CheckViolationError):
        await db.rows("register", "test", *["x"] * 2, None, None, None, [], -1.0, False)
    with pytest.raises(asyncpg.DataError):
        await db.rows("beat", "not a number")
    assert db.retries == 0


async def blocked(connection: Any) -> bool:
    """Say whether somebody in this database waits for a lock."""
    waits: bool = await connection.fetchval(
        "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')"
    )
    return waits


async def make_waits(admin: Any, triggerer: int | None) -> None:
    """Make two waits."""
    for _ in range(2):
        await admin.execute(
            "insert into trigger (classpath, kwargs, created_date, triggerer_id) values ('a.B', '', now(), $1)",
            triggerer,
        )


async def test_a_deadlock_is_tried_again(database: str) -> None:
    async with connected(database) as db, connection_to(database) as other:
        triggerer = await jobs.register(db, "test", JOB)
        await make_waits(other, triggerer)
        await other.execute("set deadlock_timeout = '1min'")
        async with other.transaction():
            await other.execute("update trigger set priority = 1 where id = 2")
            verb = asyncio.create_task(holding.release_all(db, "test", triggerer, "it leaves"))
            await eventually(lambda: blocked(other))
            await other.execute("update trigger set priority = 1 where id = 1")
        assert len(await verb) == 2
        assert db.retries == 1


@pytest.mark.parametrize("in_vain", ["set_config('lock_timeout', '0', false)", "1"])
async def test_a_lock_that_is_held_too_long_is_waited_for_again(database: str, in_vain: str) -> None:
    """The first way ends by the timeout of the statement, the second by that of the lock."""
    async with connected(database, pool_size=1, statement_timeout_sec=0.2) as db, connection_to(database) as other:
        number = await jobs.register(db, "test", JOB)
        await db._pool.fetchval(f"select {in_vain}")
        async with other.transaction():
            await other.execute("select from job for update")
            verb = asyncio.create_task(jobs.retire(db, "test", number))
            await eventually(lambda: db.retries >= 2)
        assert await verb


async def test_a_terminated_connection_is_replaced(database: str, db: Database) -> None:
    number = await jobs.register(db, "test", JOB)
    async with connection_to(database) as other:
        async with other.transaction():
            await other.execute("select from job for update")
            verb = asyncio.create_task(jobs.retire(db, "test", number))
            await eventually(lambda: blocked(other))
            # Only here: other tests wait for locks in databases of their own.
            await other.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where wait_event_type = 'Lock' and datname = current_database()"
            )
            await eventually(lambda: db.retries >= 1)
        assert await verb


async def test_idle_connections_that_were_terminated_are_replaced(database: str, db: Database) -> None:
    await asyncio.gather(*(jobs.loads(db) for _ in range(4)))
    async with connection_to(database) as other:
        await other.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'bide' "
            "and datname = current_database()"
        )
    assert await asyncio.gather(*(jobs.loads(db) for _ in range(4))) == [[]] * 4


async def test_the_worker_finds_a_leg_whose_start_was_committed_but_not_answered(database: str) -> None:
    async with wire(database) as (line, address), connected(address, pool_size=1) as db:
        worker = await jobs.register(db, "test", JOB)
        await queue_one_leg(database)
        await legs.start(db, "test", worker, [])
        line.lose_next_answer()
        assert await legs.start(db, "test", worker, [Leg(1, 1)]) == []
        assert db.retries == 1
        assert [(held.id, held.child_leg, held.state) for held in await views.legs_of(db, worker)] == [
            (1, 1, "running")
        ]
        # It gives back what it does not know, and the leg runs elsewhere without using up a try.
        assert len(await legs.drain(db, "test", [Leg(1, 1)])) == 1
        assert [(row.state, row.try_number) for row in await legs.stopped(db, "test", [Leg(1, 1)])] == [
            ("scheduled", 1)
        ]


async def queue_one_leg(url: str) -> None:
    async with connection_to(url) as admin:
        await admin.execute("""
            insert into dag (dag_id) values ('d');
            insert into dag_run (dag_id, run_id, state, queued_at, start_date)
            values ('d', 'r', 'running', now(), now());
            insert into task_instance (dag_run_id, dag_id, run_id, task_id, state, leg)
            values (1, 'd', 'r', 't', 'queued', 1);
        """)


async def test_the_triggerer_finds_waits_whose_claim_was_committed_but_not_answered(database: str) -> None:
    async with wire(database) as (line, address), connected(address, pool_size=1) as db:
        triggerer = await jobs.register(db, "test", JOB)
        await holding.claim(db, "test", triggerer, [""], 1)
        async with connection_to(database) as admin:
            await make_waits(admin, None)
        line.lose_next_answer()
        assert [wait.id for wait in await holding.claim(db, "test", triggerer, [""], 1)] == [2]
        assert [(wait.id, wait.claim) for wait in await views.waits_of(db, triggerer)] == [(1, 1), (2, 1)]


async def test_a_run_whose_launch_was_not_answered_is_there_once(database: str) -> None:
    async with wire(database) as (line, address), connected(address, pool_size=1) as db:
        async with connection_to(database) as admin:
            await admin.execute("insert into dag (dag_id) values ('d')")
        what = ("d", None, "manual", None)
        await runs.launch(db, "test", *what, [], [])  # type: ignore[arg-type]
        line.lose_next_answer()
        assert await runs.launch(db, "test", *what, [runs.NewRun("r")], [runs.NewTask("t")]) == []  # type: ignore[arg-type]
        async with connection_to(database) as admin:
            assert await admin.fetchval("select count(*) from task_instance join dag_run using (run_id)") == 1


async def test_a_connection_that_nobody_answers_on_is_given_up(database: str) -> None:
    async with wire(database) as (line, address), connected(address, pool_size=1, statement_timeout_sec=0.25) as db:
        number = await jobs.register(db, "test", JOB)
        line.freeze()
        begun = time.monotonic()
        assert await jobs.beat(db, number)
        assert 0.3 <= time.monotonic() - begun < 2
        assert db.retries == 1


async def test_a_cancelled_statement_frees_its_connection_at_once(database: str) -> None:
    async with connected(database, pool_size=1) as db, connection_to(database) as other:
        number = await jobs.register(db, "test", JOB)
        async with other.transaction():
            await other.execute("select from job for update")
            verb = asyncio.create_task(jobs.retire(db, "test", number))
            await eventually(lambda: blocked(other))
            verb.cancel()
            with pytest.raises(asyncio.CancelledError):
                await verb
            assert await jobs.loads(db) == []
    assert db.retries == 0


async def test_whoever_finds_the_pool_exhausted_waits_no_longer_than_the_patience(database: str) -> None:
    async with connected(database, pool_size=1, patience_sec=0.2) as db, connection_to(database) as other:
        number = await jobs.register(db, "test", JOB)
        async with other.transaction():
            await other.execute("select from job for update")
            verb = asyncio.create_task(jobs.retire(db, "test", number))
            await eventually(lambda: blocked(other))
            with pytest.raises(DatabaseUnavailable, match="no free connection"):
                await jobs.loads(db)
        assert await verb
        assert await jobs.loads(db) == []


async def test_a_closed_pool_says_so_at_once(database: str) -> None:
    async with connected(database) as db:
        await jobs.loads(db)
    with pytest.raises(DatabaseUnavailable, match="clos"):
        await jobs.loads(db)


async def test_a_server_that_is_not_there_is_waited_for(folder: Path) -> None:
    address = f"postgresql://nobody@127.0.0.1:{embedded.free_port()}/postgres"
    async with connected(address, patience_sec=0.2) as db:
        with pytest.raises(DatabaseUnavailable, match=r"within 0.2 s: .*Connect call failed"):
            await jobs.loads(db)
        assert db.retries > 1


async def test_a_server_without_room_for_connections_is_waited_for(folder: Path) -> None:
    few = {"max_connections": "5", "superuser_reserved_connections": "0"}
    with embedded.running(folder, settings=few) as server:
        others = [await asyncpg.connect(server.url) for _ in range(5)]
        await others[0].execute(schema())
        async with connected(server.url) as db:
            verb = asyncio.create_task(jobs.register(db, "test", JOB))
            await eventually(lambda: db.retries >= 2)
            for other in others:
                await other.close()
            assert await verb == 1


async def test_a_server_that_only_reads_is_waited_for(folder: Path) -> None:
    with embedded.running(folder) as server:
        async with connection_to(server.url) as admin, connected(server.url) as db:
            await admin.execute(schema())
            await jobs.loads(db)
            await admin.execute("alter system set default_transaction_read_only = on")
            await admin.execute("select pg_reload_conf()")
            await eventually(lambda: admin.fetchval("select current_setting('default_transaction_read_only') = 'on'"))
            verb = asyncio.create_task(jobs.register(db, "test", JOB))
            await eventually(lambda: db.retries >= 2)
            await admin.execute("alter system reset default_transaction_read_only")
            await admin.execute("select pg_reload_conf()")
            assert await verb == 1


@pytest.mark.parametrize("how", ["fast", "immediate", "power cut"])
async def test_verbs_go_on_while_the_server_is_restarted_and_nothing_acknowledged_is_lost(
    folder: Path, how: str
) -> None:
    made: list[int] = []

    async def make(db: Database) -> None:
        while len(made) < 200:
            made.append(await jobs.register(db, "test", JOB))

    with embedded.running(folder) as server:
        async with connection_to(server.url) as admin:
            await admin.execute(schema())
        async with connected(server.url) as db:
            makers = asyncio.gather(*(make(db) for _ in range(8)))
            await eventually(lambda: len(made) > 50)
            stop(folder, how)
            await eventually(lambda: not processes_of(folder))
            await eventually(lambda: db.retries >= 10)
            with embedded.running(folder) as again:
                assert again.url == server.url
                await makers
                async with connection_to(again.url) as admin:
                    assert {row["id"] for row in await admin.fetch("select id from job")} >= set(made)


def stop(folder: Path, how: str) -> None:
    """End a server in one of three ways."""
    match how:
        case "fast":
            os.kill(postmaster(folder), signal.SIGINT)
        case "immediate":
            os.kill(postmaster(folder), signal.SIGQUIT)
        case _:
            cut_power(folder)
