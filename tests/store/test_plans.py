"""What becomes of DAGs when their files are looked at: versions, due dates, errors, comings and goings."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from bide.model.timetable import Interval
from bide.store import plans
from bide.store.database import Database, connected
from bide.store.plans import Fate, FoundDag, FoundFile, Stored
from tests.process.eventually import eventually
from tests.store.scene import NOW, set_clock

DUE = datetime(2030, 1, 2, tzinfo=UTC)


def file(fileloc: str = "a.py", **settings: Any) -> FoundFile:
    known: dict[str, Any] = {
        "fileloc": fileloc,
        "known_hash": "h",
        "content_hash": "h",
        "size": 3,
        "mtime": NOW,
        "seconds": 0.5,
    }
    return FoundFile(**known | settings)


def dag(
    dag_id: str = "x", fileloc: str = "a.py", content: str = "1", due: datetime | None = DUE, **more: Any
) -> FoundDag:
    settings: dict[str, Any] = {
        "fileloc": fileloc,
        "dag_id": dag_id,
        "content_hash": content,
        "plan": json.dumps({"dag_id": dag_id, "content": content}),
        "source": f"# {content}",
        "fingerprint": f"print of {content}",
        "is_paused": False,
        "max_active_tasks": 3,
        "max_active_runs": 2,
        "description": "What for",
        "owners": "me",
        "tags": '["b", "a, c"]',
        "timetable_summary": "@daily",
        "timetable_description": "At 00:00 every day",
        "has_schedule": True,
        "timetable": "daily",
        "next_logical_date": due and due - timedelta(days=1),
        "next_interval_start": due and due - timedelta(days=1),
        "next_interval_end": due,
        "next_run_at": due,
    }
    return FoundDag(**settings | more)


def outcomes(stored: list[Stored]) -> dict[str, Fate]:
    return {one.name: one.outcome for one in stored}


@pytest.fixture
async def look(connection: "asyncpg.Connection[asyncpg.Record]") -> Any:
    """A function that reads one row."""
    await set_clock(connection, NOW)

    async def fetch(query: str, *arguments: Any) -> Any:
        return await connection.fetchrow(query, *arguments)

    return fetch


async def numbers(look: Any, dag_id: str = "x") -> list[int]:
    row = await look("select array_agg(number order by number) as them from dag_version where dag_id = $1", dag_id)
    return list(row["them"] or [])


async def errors(look: Any, fileloc: str = "a.py") -> str | None:
    row = await look("select error from import_error where fileloc = $1", fileloc)
    return str(row["error"]) if row else None


async def test_a_new_dag_is_stored_with_all_that_is_known_about_it(db: Database, look: Any) -> None:
    assert await plans.store_files(db, [file()], [dag(is_paused=True)]) == [Stored(Fate.NEW, "x")]
    row = await look(
        "select d.*, v.number, v.plan, v.source, v.fingerprint from dag d join dag_version v on v.id = d.version_id"
    )
    assert (row["is_paused"], row["max_active_tasks"], row["max_active_runs"]) == (True, 3, 2)
    assert (row["fileloc"], row["gone_at"], row["description"], row["owners"]) == ("a.py", None, "What for", "me")
    assert (row["tags"], row["timetable_summary"], row["has_schedule"]) == (["b", "a, c"], "@daily", True)
    assert (row["next_run_at"], row["next_interval_end"], row["next_logical_date"]) == (
        DUE,
        DUE,
        DUE - timedelta(days=1),
    )
    assert (row["number"], row["source"], row["fingerprint"]) == (1, "# 1", "print of 1")
    assert json.loads(row["plan"]) == {"dag_id": "x", "content": "1"}
    seen = await look("select * from dag_file")
    assert (seen["dag_ids"], seen["seconds"], seen["parsed_at"], seen["size"]) == (["x"], 0.5, NOW, 3)


async def test_the_same_content_gives_no_new_version_and_touches_nothing(db: Database, look: Any) -> None:
    await plans.store_files(db, [file()], [dag()])
    before = await look("select xmin from dag")
    assert outcomes(await plans.store_files(db, [file()], [dag(is_paused=True)])) == {"x": Fate.SAME}
    assert await numbers(look) == [1]
    assert await look("select xmin from dag") == before


async def test_a_change_gives_a_version_and_leaves_to_people_what_is_theirs(db: Database, look: Any) -> None:
    await plans.store_files(db, [file()], [dag()])
    changed = dag(content="2", is_paused=True, max_active_runs=9, description=None, tags="[]")
    assert outcomes(await plans.store_files(db, [file()], [changed])) == {"x": Fate.CHANGED}
    row = await look("select d.*, v.number from dag d join dag_version v on v.id = d.version_id")
    assert (row["number"], row["is_paused"], row["max_active_runs"]) == (2, False, 9)
    assert (row["description"], row["tags"]) == (None, [])


async def test_due_dates_are_the_schedulers_until_the_schedule_changes(db: Database, look: Any) -> None:
    later = DUE + timedelta(days=5)
    await plans.store_files(db, [file()], [dag()])
    await plans.store_files(db, [file()], [dag(content="2", due=later)])
    assert (await look("select next_run_at from dag"))["next_run_at"] == DUE
    await plans.store_files(db, [file()], [dag(content="3", due=later, timetable="weekly")])
    assert (await look("select next_run_at from dag"))["next_run_at"] == later
    await plans.store_files(db, [file()], [dag(content="4", due=None, timetable="none", has_schedule=False)])
    assert (await look("select next_run_at from dag"))["next_run_at"] is None


async def test_a_broken_file_shows_its_error_and_keeps_what_it_had(db: Database, look: Any) -> None:
    await plans.store_files(db, [file()], [dag(), dag("y")])
    broken = file(error="Line 3 is wrong.", traceback="line 3\0\ud800")
    assert await plans.store_files(db, [broken], [dag("y", content="2")]) == [Stored(Fate.CHANGED, "y")]
    assert (await look("select count(*) as n from dag where gone_at is null"))["n"] == 2
    row = await look("select * from import_error")
    assert (row["error"], row["traceback"], row["at"]) == ("Line 3 is wrong.", "line 3\ufffd?", NOW)
    await plans.store_files(db, [file()], [dag(), dag("y", content="2")])
    assert await errors(look) is None


async def test_an_error_keeps_its_first_date_while_it_stays_the_same(
    db: Database, look: Any, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await plans.store_files(db, [file(error="Bad.")], [])
    await set_clock(connection, DUE)
    await plans.store_files(db, [file(error="Bad.")], [])
    assert (await look("select at from import_error"))["at"] == NOW
    await plans.store_files(db, [file(error="Worse.")], [])
    assert (await look("select at from import_error"))["at"] == DUE


async def test_a_dag_that_leaves_its_file_is_gone_and_comes_back_as_it_was(db: Database, look: Any) -> None:
    await plans.store_files(db, [file()], [dag(), dag("y")])
    assert outcomes(await plans.store_files(db, [file()], [dag()])) == {"x": Fate.SAME, "y": Fate.GONE}
    assert (await look("select gone_at from dag where dag_id = 'y'"))["gone_at"] == NOW
    assert outcomes(await plans.store_files(db, [file()], [dag(), dag("y")])) == {"x": Fate.SAME, "y": Fate.CHANGED}
    assert (await look("select gone_at from dag where dag_id = 'y'"))["gone_at"] is None
    assert await numbers(look, "y") == [1]


async def test_a_file_that_is_no_longer_there_takes_its_dags_and_errors_along(db: Database, look: Any) -> None:
    await plans.store_files(db, [file(), file("b.py", error="Bad.")], [dag(), dag("y"), dag("z", "b.py")])
    assert await plans.files_looked_at(db) == {"a.py": 0.5, "b.py": 0.5}
    assert await plans.forget_files(db, ["b.py", "never.py"]) == ["z"]
    assert await plans.files_looked_at(db) == {"a.py": 0.5}
    assert await errors(look, "b.py") is None
    assert (await look("select gone_at from dag where dag_id = 'z'"))["gone_at"] == NOW
    assert await plans.forget_files(db, ["b.py"]) == []


async def test_the_second_file_with_a_dag_is_refused_in_a_sentence_that_names_both(db: Database, look: Any) -> None:
    await plans.store_files(db, [file()], [dag()])
    other = [file("b.py")], [dag(fileloc="b.py", content="2"), dag("y", "b.py")]
    stored = await plans.store_files(db, *other)
    assert stored == [Stored(Fate.REFUSED, "x", "a.py"), Stored(Fate.NEW, "y")]
    assert await errors(look, "b.py") == "The DAG 'x' is in a.py already: give the one in b.py another dag_id."
    assert await numbers(look) == [1]
    # A first file that is broken holds on to what it has; one that is gone does not.
    await plans.store_files(db, [file(error="Bad.")], [])
    assert outcomes(await plans.store_files(db, *other))["x"] == Fate.REFUSED
    await plans.forget_files(db, ["a.py"])
    assert outcomes(await plans.store_files(db, *other))["x"] == Fate.CHANGED
    assert await errors(look, "b.py") is None


async def test_an_error_of_the_file_stands_before_that_of_its_refused_dags(db: Database, look: Any) -> None:
    await plans.store_files(db, [file()], [dag()])
    await plans.store_files(db, [file("b.py", error="Bad.")], [dag(fileloc="b.py")])
    assert await errors(look, "b.py") == "Bad.\nThe DAG 'x' is in a.py already: give the one in b.py another dag_id."


async def test_a_dag_may_move_to_another_file_in_one_go(db: Database, look: Any) -> None:
    await plans.store_files(db, [file()], [dag()])
    moved = await plans.store_files(db, [file(), file("b.py")], [dag(fileloc="b.py")])
    assert moved == [Stored(Fate.CHANGED, "x")]
    row = await look("select fileloc, gone_at from dag")
    assert (row["fileloc"], row["gone_at"]) == ("b.py", None)


async def test_a_dag_that_somebody_else_made_is_taken_over(db: Database, look: Any) -> None:
    await look("insert into dag (dag_id, is_paused) values ('x', true) returning dag_id")
    assert outcomes(await plans.store_files(db, [file()], [dag()])) == {"x": Fate.CHANGED}
    row = await look("select fileloc, is_paused from dag")
    assert (row["fileloc"], row["is_paused"]) == ("a.py", True)


async def test_processors_that_store_the_same_at_once_make_one_version(database: str, look: Any) -> None:
    found = [file(f"{n}.py") for n in range(20)], [dag(f"dag{n}", f"{n}.py") for n in range(20)]
    async with connected(database, pool_size=8) as db:
        for content in ("1", "2"):
            dags = [dag(f"dag{n}", f"{n}.py", content=content) for n in range(20)]
            await asyncio.gather(*(plans.store_files(db, found[0], dags) for _ in range(8)))
        again = await plans.store_files(db, found[0], dags)
    assert set(outcomes(again).values()) == {Fate.SAME}
    assert (await look("select count(*) as n, max(number) as m from dag_version"))["n"] == 40


async def test_of_two_that_store_different_things_the_second_looks_again(
    database: str, look: Any, connection: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    async with connected(database) as db:
        await plans.store_files(db, [file()], [dag()])
        async with connection.transaction():
            await connection.execute("select from dag for update")
            second = asyncio.create_task(plans.store_files(db, [file()], [dag(content="3")]))
            await eventually(lambda: connection.fetchval("select count(*) from pg_locks where not granted"))
            await connection.execute(
                "insert into dag_version (dag_id, number, plan, created_at) values ('x', 2, '{}', now())"
            )
            await connection.execute("update dag set content_hash = '2'")
        assert await second == []
        assert outcomes(await plans.store_files(db, [file()], [dag(content="3")])) == {"x": Fate.CHANGED}
    assert await numbers(look) == [1, 2, 3]


async def test_what_was_found_before_somebody_else_has_stored_something_is_stale(db: Database, look: Any) -> None:
    await plans.store_files(db, [file(known_hash=None, content_hash="1")], [dag()])
    assert await plans.file_hashes(db, ["a.py", "b.py"]) == {"a.py": "1"}
    newer = [file(known_hash="1", content_hash="2")], [dag(content="2"), dag("y")]
    await plans.store_files(db, *newer)
    for known in ("1", None):
        late = file(known_hash=known, content_hash="1", error="Of yesterday.")
        assert await plans.store_files(db, [late], [dag()]) == [Stored(Fate.STALE, "a.py")]
    assert (await numbers(look), await numbers(look, "y"), await errors(look)) == ([1, 2], [1], None)
    assert await plans.file_hashes(db, ["a.py"]) == {"a.py": "2"}
    # To say the same once more is no news from yesterday.
    assert outcomes(await plans.store_files(db, *newer)) == {"x": Fate.SAME, "y": Fate.SAME}
    other = [file(known_hash="2", content_hash="3"), file("b.py")], [dag(content="3"), dag("z", "b.py")]
    assert outcomes(await plans.store_files(db, *other)) == {"x": Fate.CHANGED, "y": Fate.GONE, "z": Fate.NEW}


async def test_the_last_interval_that_was_launched_by_schedule_is_told(db: Database, look: Any) -> None:
    await plans.store_files(db, [file()], [dag()])
    for number, (run_type, days) in enumerate([("scheduled", 1), ("scheduled", 3), ("scheduled", 2), ("manual", 9)]):
        start = NOW + timedelta(days=days)
        await look(
            "insert into dag_run (dag_id, run_id, run_type, queued_at, logical_date, data_interval_start,"
            " data_interval_end) values ('x', $1, $2, $3, $3, $3, $4) returning id",
            *(f"run {number}", run_type, start, start + timedelta(days=1)),
        )
    found = await plans.schedules(db, ["x", "y"])
    third = Interval(NOW + timedelta(days=3), NOW + timedelta(days=4))
    assert found == {"x": plans.Schedule(third, NOW), "y": plans.Schedule(None, NOW)}
