"""Migrations: each once, each whole or not at all, whoever else is at it, and only where they belong."""

import asyncio

import asyncpg
import pytest

from bide.errors import DatabaseUnavailable, MigrationError
from bide.store import jobs, migrations
from bide.store.database import Database
from bide.store.migrations import Applied, Migration
from tests.process.ask import somebody_waits_for_a_lock
from tests.process.eventually import eventually
from tests.store.catalog import description

KNOWN = migrations.known()


def made_up(text: str, number: int = len(KNOWN) + 1, name: str = "made_up") -> Migration:
    return Migration(number, name, f"checksum of {text}", text)


async def migrated(url: str, wanted: list[Migration]) -> list[str]:
    """Migrate as the command does, and name what was done by us."""
    async with migrations.opened(url) as connection:
        missing = await migrations.missing(connection, wanted)
        return [str(m) for m in missing if await migrations.migrate(connection, m, wanted)]


async def had(url: str) -> list[Applied]:
    async with migrations.opened(url) as connection:
        return await migrations.applied(connection)


async def tables(url: str) -> set[str]:
    return {name for kind, name in await description(url) if kind == "rows"}


async def execute(url: str, *statements: str) -> None:
    async with asyncpg.create_pool(url, min_size=1, max_size=1) as connection:
        for statement in statements:
            await connection.execute(statement)


async def test_an_empty_database_gets_every_migration_and_remembers_it(empty_database: str) -> None:
    assert await migrated(empty_database, KNOWN) == [str(m) for m in KNOWN]
    assert await had(empty_database) == [Applied(m.number, m.name, m.checksum) for m in KNOWN]


async def test_the_second_time_there_is_nothing_to_do(empty_database: str) -> None:
    await migrated(empty_database, KNOWN)
    assert await migrated(empty_database, KNOWN) == []


async def test_a_new_migration_is_applied_to_an_older_database(empty_database: str) -> None:
    await migrated(empty_database, KNOWN)
    new = made_up("create table one_more (id integer)")
    assert await migrated(empty_database, [*KNOWN, new]) == [str(new)]
    assert "one_more" in await tables(empty_database)


async def test_many_migrators_at_once_do_everything_once(empty_database: str) -> None:
    wanted = [*KNOWN, *(made_up(f"create table more_{n} (id integer)", n) for n in range(len(KNOWN) + 1, 6))]
    done = await asyncio.gather(*(migrated(empty_database, wanted) for _ in range(6)))
    assert sorted(name for names in done for name in names) == [str(m) for m in wanted]


async def test_a_migrator_waits_for_another_one_and_then_finds_it_done(empty_database: str) -> None:
    async with migrations.opened(empty_database) as connection, migrations.alone(connection):
        second = asyncio.create_task(migrated(empty_database, KNOWN))
        await eventually(lambda: somebody_waits_for_a_lock(empty_database), 30)
        for migration in KNOWN:
            await migrations.carry_out(connection, migration)
    assert await second == []
    assert len(await had(empty_database)) == len(KNOWN)


async def test_a_migrator_that_is_stopped_while_it_waits_leaves_nothing(empty_database: str) -> None:
    async with migrations.opened(empty_database) as connection, migrations.alone(connection):
        second = asyncio.create_task(migrated(empty_database, KNOWN))
        await eventually(lambda: somebody_waits_for_a_lock(empty_database), 30)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
    assert await tables(empty_database) == set()


async def test_a_migration_that_is_cut_off_leaves_nothing_and_is_done_by_the_next(empty_database: str) -> None:
    start = "create table one_more (id integer);"
    cut_off = made_up(start + "select pg_terminate_backend(pg_backend_pid())")
    with pytest.raises(DatabaseUnavailable, match="run the command again"):
        await migrated(empty_database, [*KNOWN, cut_off])
    assert len(await had(empty_database)) == len(KNOWN)
    assert "one_more" not in await tables(empty_database)
    assert await migrated(empty_database, [*KNOWN, made_up(start)]) == ["0002_made_up"]


async def test_a_migration_that_fails_is_named_and_leaves_nothing(empty_database: str) -> None:
    wrong = made_up("create table one_more (id integer); select 1 / 0")
    with pytest.raises(MigrationError, match="0002_made_up failed, and nothing was changed: division by zero"):
        await migrated(empty_database, [*KNOWN, wrong])
    assert "one_more" not in await tables(empty_database)


@pytest.mark.parametrize(
    ("then", "now", "sentence"),
    [
        ([made_up("a", 1)], [made_up("b", 1)], "0001_made_up has changed since"),
        ([made_up("a", 1, "heart")], [made_up("a", 1, "head")], "0001_heart, where this Bide has 0001_head"),
        ([made_up("a", 2)], [made_up("a", 1), made_up("a", 2)], "0002_made_up, where this Bide has 0001_made_up"),
        ([made_up("a", 1), made_up("b", 2)], [made_up("a", 1)], "newer than this Bide, .* 0002_made_up"),
    ],
)
def test_a_database_that_came_by_another_way_is_refused(
    then: list[Applied], now: list[Migration], sentence: str
) -> None:
    with pytest.raises(MigrationError, match=sentence):
        migrations.pending(then, now)


async def test_a_changed_migration_is_refused_before_anything_is_done(empty_database: str) -> None:
    await migrated(empty_database, KNOWN)
    await execute(empty_database, "update migration set checksum = 'of yesterday'")
    with pytest.raises(MigrationError, match="0001_heart has changed since"):
        await migrated(empty_database, [*KNOWN, made_up("create table one_more (id integer)")])
    assert "one_more" not in await tables(empty_database)


async def test_somebody_elses_database_is_neither_migrated_nor_emptied(empty_database: str) -> None:
    await execute(empty_database, "create table dag_run (id integer)")
    async with migrations.opened(empty_database) as connection:
        for refused in (migrations.missing(connection, KNOWN), migrations.is_made(connection)):
            with pytest.raises(MigrationError, match="holds tables that are not Bide's"):
                await refused
    assert await tables(empty_database) == {"dag_run"}


async def test_a_reset_makes_the_database_as_new(empty_database: str, database: str) -> None:
    await migrated(empty_database, KNOWN)
    await execute(
        empty_database,
        "insert into dag (dag_id) values ('d')",
        "create table one_more (id bigint generated always as identity references job)",
        "create view seen as select * from one_more",
        "create sequence numbers",
        "create function one() returns integer language sql as 'select 1'",
        "create extension pg_trgm",
        "create schema elsewhere create table kept (id integer)",
        "update migration set checksum = 'of yesterday'",
    )
    async with migrations.opened(empty_database) as connection:
        await migrations.reset(connection, KNOWN)
        assert await migrations.missing(connection, KNOWN) == []
        assert await connection.fetchval("select to_regclass('elsewhere.kept') is not null")
    await execute(empty_database, "drop extension pg_trgm")
    assert await description(empty_database) == await description(database)


async def test_a_reset_that_is_cut_off_loses_nothing(empty_database: str) -> None:
    await migrated(empty_database, KNOWN)
    await execute(empty_database, "insert into dag (dag_id) values ('d')")
    before = await description(empty_database)
    with pytest.raises(DatabaseUnavailable):
        async with migrations.opened(empty_database) as connection:
            await migrations.reset(connection, [*KNOWN, made_up("select pg_terminate_backend(pg_backend_pid())")])
    assert await description(empty_database) == before


async def test_processes_count_as_at_work_only_while_they_beat(db: Database, database: str) -> None:
    job = jobs.NewJob(job_type=jobs.JobType.TRIGGERER, hostname="here", heartbeat_sec=5)
    first, second = await jobs.register(db, "test", job), await jobs.register(db, "test", job)
    async with migrations.opened(database) as connection:
        assert await migrations.at_work(connection) == [f"TriggererJob {n} on here" for n in (first, second)]
        await jobs.retire(db, "test", first)
        assert await migrations.at_work(connection) == [f"TriggererJob {second} on here"]
        await connection.execute("update clock set shift = interval '11 seconds'")
        assert await migrations.at_work(connection) == []


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("postgresql://me:secret@127.0.0.1:1/x", "cannot be reached"),
        ("postgresql://me:sec/ret@127.0.0.1/x", "address in database.url cannot be read"),
        ("postgresql://me:se?ret#@127.0.0.1/x", "address in database.url cannot be read"),
        ("postgresql://me:secret@127.0.0.1/x?sslmode=sometimes", "address in database.url cannot be read"),
    ],
)
async def test_an_address_that_leads_nowhere_is_refused_without_its_password(address: str, sentence: str) -> None:
    with pytest.raises(DatabaseUnavailable, match=sentence) as refused:
        async with migrations.opened(address):
            pass
    assert "sec" not in str(refused.value)


async def test_a_database_that_does_not_exist_is_named(server_url: str) -> None:
    with pytest.raises(DatabaseUnavailable, match='"nowhere" does not exist'):
        async with migrations.opened(server_url.rpartition("/")[0] + "/nowhere"):
            pass
