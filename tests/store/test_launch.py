"""A run comes to be with all of its task instances, in one statement, once, and never in part."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from bide.store import deferral, runs
from bide.store.database import Database
from bide.store.runs import Launched, NewRun, NewTask
from tests.store.scene import NOW, Scene

WHO = "test"
DAY = datetime(2030, 1, 1, tzinfo=UTC)
TIMEOUT = timedelta(hours=6)
MANY = 10_000


async def launch(db: Database, new: list[NewRun], tasks: list[NewTask]) -> list[Launched]:
    return await runs.launch(db, WHO, "dag", None, "scheduled", TIMEOUT, new, tasks)


def task(number: int) -> NewTask:
    """Make one of ten thousand tasks, none of them like the next."""
    return NewTask(
        task_id=f"task {number // 4}",
        map_index=number % 4,
        operator=f"package.Operator{number % 7}",
        pool=f"pool {number % 3}",
        pool_slots=1 + number % 5,
        priority_weight=number - 5000,
        queue=f"queue {number % 11}",
        retries=number % 6,
        execution_timeout=timedelta(seconds=number) if number % 2 else None,
        sensor_timeout=timedelta(days=number) if number % 3 == 1 else None,
        max_active_tis_per_dag=number if number % 5 == 1 else None,
        max_active_tis_per_dagrun=number if number % 7 == 1 else None,
        is_leaf=number % 13 == 0,
        callbacks=["", "success", "success,failure,retry"][number % 3],
    )


def expected(given: NewTask) -> dict[str, Any]:
    columns = {field: getattr(given, field) for field in NewTask.__struct_fields__}
    callbacks = given.callbacks.split(",") if given.callbacks else []
    return {**columns, "callbacks": callbacks, "max_tries": given.retries, "state": "none", "leg": 0, "try_number": 0}


async def test_ten_thousand_task_instances_come_to_be_as_they_were_given(db: Database, scene: Scene) -> None:
    tasks = [task(number) for number in range(MANY)]
    (run,) = await launch(db, [NewRun("r", DAY, DAY, DAY + timedelta(days=1), '{"a": 1}')], tasks)
    rows = [dict(row) for row in await scene.connection.fetch("select * from task_instance order by id")]
    assert len(rows) == MANY
    wanted = {(given.task_id, given.map_index): expected(given) for given in tasks}
    for row in rows:
        assert (
            row.items()
            >= {
                **wanted.pop((row["task_id"], row["map_index"])),
                "dag_run_id": run.id,
                "dag_id": "dag",
                "run_id": "r",
            }.items()
        )
        # Nothing else is set: nobody has it, it waits for nothing, it has no dates.
        for column in ("worker_id", "trigger_id", "next_method", "wake_at", "queued_at", "start_date", "end_date"):
            assert row[column] is None
    assert not wanted


async def test_a_run_is_as_it_was_given(db: Database, scene: Scene) -> None:
    given = NewRun("r", DAY, DAY, DAY + timedelta(days=1), '{"a":  1}')
    (run,) = await launch(db, [given], [NewTask("a")])
    row = await scene.connection.fetchrow("select * from dag_run")
    assert row
    assert dict(row).items() >= {
        "id": run.id, "dag_id": "dag", "run_id": "r", "run_type": "scheduled", "state": "queued", "epoch": 0,
        "logical_date": DAY, "data_interval_start": DAY, "data_interval_end": DAY + timedelta(days=1),
        "conf": '{"a":  1}', "queued_at": NOW, "start_date": None, "end_date": None, "dagrun_timeout": TIMEOUT,
        "timeout_at": None,
    }.items()  # fmt: skip
    (entry,) = await scene.connection.fetch("select * from history")
    assert (entry["verb"], entry["dag_run_id"], entry["to_state"], entry["who"]) == ("launch", run.id, "queued", WHO)


async def test_many_runs_of_one_version_each_get_all_tasks(db: Database, scene: Scene) -> None:
    launched = await launch(
        db, [NewRun(f"r{n}", DAY + timedelta(days=n)) for n in range(20)], [task(n) for n in range(8)]
    )
    assert {run.run_id for run in launched} == {f"r{n}" for n in range(20)}
    rows = await scene.connection.fetch("select dag_run_id from task_instance")
    assert Counter(row["dag_run_id"] for row in rows) == {run.id: 8 for run in launched}


async def test_a_run_that_is_there_is_left_alone_and_the_others_come_to_be(db: Database, scene: Scene) -> None:
    await launch(db, [NewRun("a")], [NewTask("first")])
    launched = await launch(db, [NewRun("a"), NewRun("b"), NewRun("b")], [NewTask("second")])
    assert [run.run_id for run in launched] == ["b"]
    rows = await scene.connection.fetch("select run_id, task_id from task_instance order by 1")
    assert [tuple(row) for row in rows] == [("a", "first"), ("b", "second")]
    assert await scene.connection.fetchval("select count(*) from history") == 2


async def test_of_many_who_launch_the_same_run_one_does(db: Database, scene: Scene) -> None:
    answers = await asyncio.gather(*(launch(db, [NewRun("r")], [task(n) for n in range(100)]) for _ in range(4)))
    assert sorted(len(answer) for answer in answers) == [0, 0, 0, 1]
    assert await scene.connection.fetchval("select count(*) from task_instance") == 100


async def test_a_run_with_a_task_that_cannot_be_does_not_come_to_be(db: Database, scene: Scene) -> None:
    for wrong in (NewTask(""), NewTask("a", pool_slots=0), NewTask("a", map_index=-2)):
        with pytest.raises(asyncpg.CheckViolationError):
            await launch(db, [NewRun("r")], [NewTask("good"), wrong])
    with pytest.raises(asyncpg.UniqueViolationError):
        await launch(db, [NewRun("r")], [NewTask("twice"), NewTask("twice")])
    assert await scene.connection.fetchval("select count(*) from dag_run") == 0
    assert await scene.connection.fetchval("select count(*) from history") == 0


async def test_a_run_without_tasks_comes_to_be(db: Database, scene: Scene) -> None:
    assert len(await launch(db, [NewRun("r")], [])) == 1


async def test_numbers_for_waits_are_given_to_one_only(db: Database) -> None:
    batches = await asyncio.gather(*(deferral.reserve_trigger_ids(db, 50) for _ in range(8)))
    numbers = [number for batch in batches for number in batch]
    assert len(set(numbers)) == 400
    assert min(numbers) > 0
    assert await deferral.reserve_trigger_ids(db, 0) == []
