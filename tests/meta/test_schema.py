"""The migrations, all in a row, make the same database as schema.sql does."""

import re
from collections.abc import Iterator, Mapping

import asyncpg
import pytest

from bide.store import migrations
from tests.meta.tree import ROOT, files
from tests.store.catalog import description

PLACE = "{{schema}}"
_RELEASE = re.compile(r"^## \[[\d.]+\] - \d{4}-\d{2}-\d{2}", re.MULTILINE)


async def test_all_migrations_in_a_row_make_the_database_of_the_schema(empty_database: str, database: str) -> None:
    wanted = migrations.known()
    async with migrations.opened(empty_database) as connection:
        for migration in wanted:
            assert await migrations.migrate(connection, migration, wanted)
    assert await description(empty_database) == await description(database)


@pytest.mark.parametrize(
    "change",
    [
        "create table one_more (id integer)",
        "alter table job add column one_more integer",
        "alter table job drop column pid",
        "alter table job alter column pid type bigint",
        "alter table job alter column hostname drop not null",
        "alter table pool alter column slots set default 1",
        "alter table task_instance drop constraint task_instance_waits_for_fkey",
        "alter table pool rename constraint pool_slots_check to pool_slots_check1",
        "alter table pool drop constraint pool_slots_check, add constraint pool_slots_check check (slots >= 1)",
        "drop index trigger_due",
        "drop index trigger_due; create index trigger_due on trigger (due_at)",
        "alter table trigger reset (fillfactor)",
        "alter table trigger set (autovacuum_vacuum_scale_factor = 0.03)",
        "alter table history set unlogged",
        "alter sequence trigger_id_seq increment by 2",
        "alter sequence trigger_id_seq owned by none",
        "create or replace function bide_now() returns timestamptz language sql as 'select now()'",
        "create function one_more() returns integer language sql as 'select 1'",
        "create type one_more as enum ('a')",
        "create view one_more as select 1 as one",
        "update pool set slots = 3",
        "delete from turn",
        "comment on table job is 'who works'",
    ],
)
async def test_a_difference_is_found(database: str, change: str) -> None:
    before = await description(database)
    connection = await asyncpg.connect(database)
    await connection.execute(change)
    await connection.close()
    assert await description(database) != before


def test_released_migrations_hold_their_own_text() -> None:
    written = files("src/bide/sql/migrations", suffix=".sql")
    assert list(unfixed((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), written)) == []


def test_a_migration_that_a_release_did_not_fix_is_found() -> None:
    written = {"0001_heart.sql": PLACE, "0002_more.sql": "create table more ()"}
    assert list(unfixed("## [0.1.0] - unreleased\n", written)) == []
    assert list(unfixed("# Log\n\n## [0.1.0] - 2030-01-02\n", written)) == ["0001_heart.sql"]


def unfixed(changelog: str, written: Mapping[str, str]) -> Iterator[str]:
    """Find migrations that change with the schema although there has been a release."""
    if _RELEASE.search(changelog):
        yield from (path for path, text in written.items() if PLACE in text)
