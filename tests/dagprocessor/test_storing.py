"""What was found is stored in batches, checked once more, and never over something newer."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bide.dagprocessor import storing
from bide.dagprocessor.finding import Stamp, stamp_of
from bide.dagprocessor.storing import Result, Storer, Told
from bide.model.messages import Broken, Parsed
from bide.model.plan import DagPlan, SchedulePlan, TaskPlan
from bide.store.database import Database
from bide.store.plans import Fate, Stored

DAILY = SchedulePlan(kind="cron", arguments={"expression": "0 0 * * *"}, summary="@daily")
WEEKLY = SchedulePlan(kind="cron", arguments={"expression": "0 0 * * 0"}, summary="@weekly")


def plan(dag_id: str, *tasks: str, **settings: Any) -> DagPlan:
    return DagPlan(dag_id=dag_id, tasks=tuple(TaskPlan(task_id=task, operator="Op") for task in tasks), **settings)


class Folder:
    """A folder of files that were parsed, by themselves or by another processor."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def result(self, path: str, *plans: DagPlan, others: tuple[str, ...] = (), **more: Any) -> Result:
        """Say that a file was parsed as it is now; it has its own path and a word in it."""
        file = self.root / path
        text = f"# {more.pop('word', 'one')}"
        file.write_text(text)
        stamp = stamp_of(str(file))
        assert stamp
        looks: dict[str, Stamp | None] = {str(self.root / other): stamp_of(str(self.root / other)) for other in others}
        return Result(path, Parsed(plans, source=text, **more), stamp, 0.1, looks)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def storer(db: Database, tmp_path: Path) -> Storer:
    return Storer(db, tmp_path, paused_at_creation=False)


@pytest.fixture
async def look(database: str) -> Any:
    connection = await asyncpg.connect(database)
    yield connection.fetchrow
    await connection.close()


def fates(told: Told) -> dict[str, Fate]:
    return {one.name: one.outcome for stored in told.stored.values() for one in stored}


async def test_many_files_go_in_few_statements(
    db: Database, storer: Storer, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "MOST_FILES", 3)
    told = await storer.store([folder.result(f"{n}.py", plan(f"d{n}")) for n in range(8)])
    assert fates(told) == {f"d{n}": Fate.NEW for n in range(8)}
    monkeypatch.setattr(storing, "MOST_CHARACTERS", 1)
    told = await storer.store([folder.result(f"{n}.py", plan(f"d{n}"), word="two") for n in range(3)])
    assert set(fates(told).values()) == {Fate.CHANGED}
    assert (told.gone, told.again) == ([], [])


async def test_of_two_new_files_with_one_dag_the_first_by_name_has_it(storer: Storer, folder: Folder) -> None:
    told = await storer.store([folder.result("b.py", plan("x"), plan("y")), folder.result("a.py", plan("x"))])
    assert told.stored == {
        "a.py": [Stored(Fate.NEW, "x")],
        "b.py": [Stored(Fate.REFUSED, "x", "a.py"), Stored(Fate.NEW, "y")],
    }


async def test_what_a_file_has_answered_in_its_own_name_is_checked(storer: Storer, folder: Folder, look: Any) -> None:
    circle = DagPlan(
        dag_id="circle",
        tasks=(
            TaskPlan(task_id="a", operator="Op", upstream=("b",)),
            TaskPlan(task_id="b", operator="Op", upstream=("a",)),
        ),
    )
    forged = [circle, plan("a b"), plan("good"), plan("good", "again"), plan("nul", description="a\0b", tags=("\0",))]
    forged.append(plan("odd", schedule=SchedulePlan(kind="lunar")))
    told = await storer.store([folder.result("a.py", *forged, broken=Broken("", "trace"))])
    assert fates(told) == {"good": Fate.NEW, "nul": Fate.NEW}
    row = await look("select error, traceback from import_error")
    assert row["traceback"] == "trace"
    for said in (
        "DAG 'circle': Tasks wait for one another in a circle: a >> b >> a.",
        "DAG 'a b': dag_id 'a b' must be made of letters",
        "Two DAGs of the file have the id 'good'; give each its own.",
        "DAG 'odd': The schedule is of the kind 'lunar', which this Bide does not know.",
    ):
        assert said in row["error"]
    row = await look("select description, tags from dag where dag_id = 'nul'")
    assert (row["description"], row["tags"]) == ("a\ufffdb", ["\ufffd"])


async def test_dates_are_told_anew_when_the_schedule_changes_and_only_then(
    storer: Storer, folder: Folder, look: Any
) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)

    async def due(**settings: Any) -> object:
        await storer.store([folder.result("a.py", plan("x", start_date=start, catchup=True, **settings))])
        return (await look("select next_run_at from dag"))["next_run_at"]

    assert await due(schedule=DAILY) == datetime(2024, 1, 2, tzinfo=UTC)
    await look("update dag set next_run_at = '2024-06-01Z' returning dag_id")
    assert await due(schedule=DAILY, description="new") == datetime(2024, 6, 1, tzinfo=UTC)
    assert await due(schedule=WEEKLY) == datetime(2024, 1, 14, tzinfo=UTC)
    assert await due(schedule=WEEKLY, end_date=start) is None


async def test_every_state_of_a_file_and_of_what_it_reads_is_another_one(
    storer: Storer, folder: Folder, look: Any, tmp_path: Path
) -> None:
    data = tmp_path / "data.txt"
    data.write_text("one")

    async def print_of(*plans: DagPlan, **more: Any) -> str:
        await storer.store([folder.result("a.py", *plans, others=("data.txt", "nothing.txt"), **more)])
        row = await look(
            "select v.fingerprint from dag d join dag_version v on v.id = d.version_id where d.dag_id = 'x'"
        )
        return str(row["fingerprint"])

    prints = [await print_of(plan("x"))]
    prints.append(await print_of(plan("x"), word="two"))
    data.write_text("two")
    prints.append(await print_of(plan("x"), word="two"))
    prints.append(await print_of(plan("x", "task"), plan("y"), word="two"))
    assert len(set(prints)) == 4
    # The DAG itself is the same, so its version stays, and with it the processes that have it loaded.
    assert await print_of(plan("x", "task"), plan("y", "task"), word="two") == prints[-1]
    os.utime(data)
    assert await print_of(plan("x", "task"), plan("y", "task"), word="two") == prints[-1]


async def test_the_last_word_is_of_who_has_seen_the_file_last(
    db: Database, storer: Storer, folder: Folder, tmp_path: Path
) -> None:
    await storer.store([folder.result("a.py", plan("x"))])
    late = folder.result("a.py", plan("x", "late"), word="late")
    other = Storer(db, tmp_path, paused_at_creation=False)
    newer = folder.result("a.py", plan("x", "newer"), word="newer")
    assert fates(await other.store([newer])) == {"x": Fate.CHANGED}
    assert await storer.store([late]) == Told(again=["a.py"])
    # Also one who has just begun, and knows only what is stored.
    fresh = Storer(db, tmp_path, paused_at_creation=False)
    assert await fresh.store([late]) == Told(again=["a.py"])
    assert fates(await fresh.store([newer])) == {"x": Fate.SAME}


async def test_what_changes_all_the_time_is_stored_all_the_same(storer: Storer, folder: Folder, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("1")
    told = []
    for number in range(4):
        result = folder.result("a.py", plan("x", f"t{number}"), others=("log.txt",))
        log.write_text("1" * (number + 2))
        told.append(await storer.store([result]))
    assert told[0] == Told(again=["a.py"])
    assert [fates(one) for one in told[1:]] == [{"x": Fate.NEW}, {"x": Fate.CHANGED}, {"x": Fate.CHANGED}]
