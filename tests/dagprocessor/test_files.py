"""Files come, change, break and go, and the database follows."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from bide.dagprocessor import watching
from tests.dagprocessor.conftest import HEAD, Bed, dag_file
from tests.process.eventually import eventually

AtWork = Callable[..., AbstractAsyncContextManager[Any]]


async def test_what_is_there_is_stored_and_the_rest_is_left_alone(bed: Bed, at_work: AtWork) -> None:
    bed.write("a.py", dag_file("a"))
    bed.write("deep/down/b.py", dag_file("b", "c", tags=("x",), owner="me"))
    bed.write("helper.py", "raise RuntimeError('never imported: it does not say the words')")
    bed.write("note.txt", dag_file("no"))
    bed.write(".hidden/d.py", dag_file("d"))
    bed.write("__pycache__/e.py", dag_file("e"))
    async with at_work():
        await bed.has(a=1, b=1, c=1)
    row = await bed.connection.fetchrow("select * from dag where dag_id = 'b'")
    assert (row["fileloc"], row["tags"], row["owners"]) == ("deep/down/b.py", ["x"], "me")
    version = await bed.connection.fetchrow("select * from dag_version where dag_id = 'b'")
    assert json.loads(version["plan"])["fileloc"] == version["fileloc"] == "deep/down/b.py"
    assert version["source"] == (bed.folder / "deep/down/b.py").read_text()
    seen = await bed.connection.fetchrow("select * from dag_file where fileloc = 'deep/down/b.py'")
    assert (seen["dag_ids"], seen["size"]) == (["b", "c"], len(version["source"]))
    assert await bed.errors() == {}


async def test_the_processor_is_a_registered_process_and_leaves_in_order(bed: Bed, at_work: AtWork) -> None:
    async with at_work(job_heartbeat_sec=1.5):
        query = "select job_type, state, heartbeat_sec from job"
        await eventually(lambda: bed.connection.fetchrow(query))
        assert tuple(await bed.connection.fetchrow(query)) == ("DagProcessorJob", "running", 1.5)
    assert await bed.connection.fetchval("select state from job") == "success"


async def test_a_saved_file_is_live_at_once(bed: Bed, at_work: AtWork) -> None:
    async with at_work(rescan_sec=3600):
        bed.write("a.py", dag_file("a"))
        await bed.has(a=1)
        bed.write("a.py", dag_file("a", description="new"))
        await bed.has(a=2)
        # As editors save: beside it, and moved over it.
        os.replace(bed.write("a.py.new", dag_file("a", description="newer")), bed.folder / "a.py")
        await bed.has(a=3)
        bed.write("new/folder/b.py", dag_file("b"))
        await bed.has(a=3, b=1)


async def test_a_saved_file_is_found_where_the_system_does_not_tell_of_it(
    bed: Bed, at_work: AtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHFILES_FORCE_POLLING", "1")
    async with at_work(rescan_sec=3600):
        file = bed.write("a.py", dag_file("a"))
        await bed.has(a=1)
        # This way of watching knows only whole seconds.
        beside = bed.write("beside", dag_file("a", description="new"))
        os.utime(beside, (file.stat().st_mtime + 2,) * 2)
        beside.rename(file)
        await bed.has(a=2)


async def test_a_saved_file_is_found_where_the_system_has_no_room_to_watch(
    bed: Bed, at_work: AtWork, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_given: Any, **_settings: Any) -> Any:
        raise OSError("OS file watch limit reached.")

    monkeypatch.setattr(watching, "awatch", refused)
    async with at_work(rescan_sec=3600):
        bed.write("a.py", dag_file("a"))
        await bed.has(a=1)
        bed.write("a.py", dag_file("a", description="new"))
        await bed.has(a=2)
    assert "OS file watch limit reached.), so Bide looks for them twice a second" in caplog.text


async def test_what_is_gone_is_forgotten_when_the_database_is_there_again(
    bed: Bed, at_work: AtWork, caplog: pytest.LogCaptureFixture
) -> None:
    file = bed.write("a.py", dag_file("a"))
    async with at_work():
        await bed.has(a=1)
        await bed.connection.execute("alter table dag_file rename to away")
        file.unlink()
        bed.write("b.py", dag_file("b"))
        await eventually(lambda: "Looking for DAG files failed" in caplog.text)
        await bed.connection.execute("alter table away rename to dag_file")
        await bed.has(b=1)


async def test_what_nobody_tells_of_is_found_now_and_then(bed: Bed, at_work: AtWork) -> None:
    outside = bed.folder.parent / "outside"
    outside.mkdir()
    (outside / "b.py").write_text(dag_file("b"))
    async with at_work(rescan_sec=0.2):
        bed.write("a.py", dag_file("a"))
        await bed.has(a=1)
        # The system tells of the new link, but not of what happens behind it.
        (bed.folder / "link").symlink_to(outside)
        await bed.has(a=1, b=1)
        (outside / "b.py").write_text(dag_file("b", description="new"))
        await bed.has(a=1, b=2)


async def test_a_file_that_only_was_touched_makes_no_version(bed: Bed, at_work: AtWork) -> None:
    file = bed.write("a.py", dag_file("a"))
    async with at_work():
        await bed.has(a=1)
        parsed_at = "select parsed_at from dag_file"
        before = await bed.connection.fetchval(parsed_at)
        os.utime(file)

        async def parsed_again() -> bool:
            return bool(await bed.connection.fetchval(parsed_at) > before)

        await eventually(parsed_again)
        assert await bed.dags() == {"a": 1}


async def test_a_broken_file_keeps_its_last_good_plan_until_it_is_mended(bed: Bed, at_work: AtWork) -> None:
    bed.write("a.py", dag_file("a"))
    async with at_work():
        await bed.has(a=1)
        bed.write("a.py", dag_file("a", more="1 / 0"))
        await bed.fails(a="ZeroDivisionError: division by zero")
        assert await bed.dags() == {"a": 1}
        trace = await bed.connection.fetchval("select traceback from import_error")
        assert f'{bed.folder}/a.py", line 3' in trace
        bed.write("a.py", dag_file("a", description="mended"))
        await bed.has(a=2)
        await bed.fails()


async def test_a_bad_dag_does_not_take_the_others_of_its_file_along(bed: Bed, at_work: AtWork) -> None:
    bed.write("a.py", dag_file("good", "bad"))
    async with at_work():
        await bed.has(good=1, bad=1)
        bed.write("a.py", HEAD + "dag('good', ['new'])\ndag('bad', {'one': ('two',), 'two': ('one',)})\n")
        await bed.has(good=2, bad=1)
        await bed.fails(a="DAG 'bad': Tasks wait for one another in a circle: one >> two >> one.")


async def test_what_is_gone_is_gone_and_what_comes_back_is_back(bed: Bed, at_work: AtWork) -> None:
    file = bed.write("a.py", dag_file("a", "b"))
    bed.write("c.py", dag_file("c"))
    async with at_work():
        await bed.has(a=1, b=1, c=1)
        bed.write("a.py", dag_file("a"))
        await bed.has(a=2, c=1)
        file.unlink()
        await bed.has(c=1)
        bed.write("a.py", dag_file("a", "b"))
        # The content is that of the first version, but between the two there was another one.
        await bed.has(a=3, b=1, c=1)
        bed.write("a.py", "# nothing about it any more")
        await bed.has(c=1)


async def test_what_went_while_nobody_looked_is_found_at_the_start(bed: Bed, at_work: AtWork) -> None:
    file = bed.write("a.py", dag_file("a"))
    bed.write("b.py", dag_file("b"))
    async with at_work():
        await bed.has(a=1, b=1)
    file.unlink()
    async with at_work():
        await bed.has(b=1)


async def test_a_file_that_moves_takes_its_dags_along(bed: Bed, at_work: AtWork) -> None:
    file = bed.write("a.py", dag_file("a"))
    async with at_work():
        await bed.has(a=1)
        file.rename(bed.folder / "b.py")
        fileloc = "select fileloc from dag where gone_at is null"
        await bed.becomes(lambda: bed.connection.fetchval(fileloc), "b.py")
        await bed.fails()


async def test_two_files_with_one_dag_are_told_apart_and_the_second_follows_the_first(
    bed: Bed, at_work: AtWork
) -> None:
    first = bed.write("a.py", dag_file("x"))
    async with at_work():
        await bed.has(x=1)
        bed.write("b.py", dag_file("x", "y"))
        await bed.has(x=1, y=1)
        await bed.fails(b="The DAG 'x' is in a.py already: give the one in b.py another dag_id.")
        first.unlink()
        await bed.has(x=2, y=1)
        await bed.fails()
        assert await bed.connection.fetchval("select fileloc from dag where dag_id = 'x'") == "b.py"


async def test_files_that_use_what_has_changed_are_parsed_again(bed: Bed, at_work: AtWork) -> None:
    bed.write("lib/__init__.py", "")
    bed.write("lib/names.py", "NAME = 'one'")
    bed.write("conf/a.json", '"from one"')
    bed.write("a.py", HEAD + "from lib.names import NAME\ndag('a', [NAME])\n")
    reading = "import json, pathlib\nhere = pathlib.Path(__file__).parent / 'conf'\n"
    bed.write(
        "b.py",
        HEAD
        + reading
        + "for file in sorted(here.iterdir()):\n    dag(file.stem, description=json.load(file.open()))\n",
    )
    bed.write("c.py", dag_file("c"))
    async with at_work(rescan_sec=3600):
        # The file b.py has a DAG for each file that it reads, and one of them is called `a`.
        await bed.fails(b="The DAG 'a' is in a.py already")
        (bed.folder / "conf/a.json").rename(bed.folder / "conf/b.json")
        await bed.has(a=1, b=1, c=1)
        bed.write("lib/names.py", "NAME = 'two'")
        await bed.has(a=2, b=1, c=1)
        assert '"task_id":"two"' in await bed.plan("a")
        bed.write("conf/b.json", '"from two"')
        await bed.has(a=2, b=2, c=1)
        assert '"from two"' in await bed.plan("b")
        bed.write("conf/d.json", '"from d"')
        # Everything that a file reads counts for all of its DAGs.
        await bed.has(a=2, b=3, c=1, d=1)


async def test_a_file_that_writes_beside_itself_is_not_parsed_for_ever(bed: Bed, at_work: AtWork) -> None:
    bed.write(
        "a.py",
        dag_file(
            "a",
            more="import os, time\nos.listdir(os.path.dirname(__file__))\n"
            "open(__file__ + '.log', 'a').write(f'{time.time()}\\n')\n",
        ),
    )
    async with at_work():
        await bed.has(a=1)
        lines = len((bed.folder / "a.py.log").read_text().splitlines())
        bed.write("b.py", dag_file("b"))
        await bed.has(a=1, b=1)
        bed.write("b.py", dag_file("b", description="again"))
        await bed.has(a=1, b=2)
        assert len((bed.folder / "a.py.log").read_text().splitlines()) == lines


async def test_a_file_that_changes_while_it_is_parsed_is_parsed_again(bed: Bed, at_work: AtWork) -> None:
    pipe = bed.folder.parent / "pipe"
    os.mkfifo(pipe)
    bed.write("a.py", dag_file("a", more=f"open({str(pipe)!r}).read()\n"))
    async with at_work():
        held = await asyncio.to_thread(open, pipe, "w")
        bed.write("a.py", dag_file("b"))
        held.close()
        await bed.has(b=1)


async def test_without_its_folder_everything_stays_as_it_is(
    bed: Bed, at_work: AtWork, caplog: pytest.LogCaptureFixture
) -> None:
    bed.write("a.py", dag_file("a"))
    away = bed.folder.parent / "away"
    async with at_work(rescan_sec=0.1):
        await bed.has(a=1)
        bed.folder.rename(away)
        await eventually(lambda: "is not there, so its DAGs stay as they are" in caplog.text)
        assert await bed.dags() == {"a": 1}
        shutil.copytree(away, bed.folder)
        bed.write("b.py", dag_file("b"))
        await bed.has(a=1, b=1)


async def test_several_processors_at_once_do_no_harm(bed: Bed, at_work: AtWork) -> None:
    for number in range(10):
        bed.write(f"{number}.py", dag_file(f"d{number}"))
    first = {f"d{number}": 1 for number in range(10)}
    async with at_work(), at_work(), at_work():
        await bed.has(**first)
        for number in range(10):
            bed.write(f"{number}.py", dag_file(f"d{number}", description="new"))
        await bed.has(**dict.fromkeys(first, 2))
        (bed.folder / "3.py").unlink()
        await bed.has(**{dag_id: 2 for dag_id in first if dag_id != "d3"})
    assert await bed.connection.fetchval("select count(*) from dag_version") == 20
    assert await bed.errors() == {}


async def test_new_dags_are_paused_where_that_is_wanted(bed: Bed, at_work: AtWork) -> None:
    bed.write("a.py", dag_file("a") + dag_file("b", is_paused_upon_creation=False).removeprefix(HEAD))
    async with at_work(dags_are_paused_at_creation=True):
        await bed.has(a=1, b=1)
    assert dict(await bed.connection.fetch("select dag_id, is_paused from dag")) == {"a": True, "b": False}


async def test_the_scheduler_is_told_when_the_next_run_is_due(bed: Bed, at_work: AtWork) -> None:
    daily = "from bide.model.plan import SchedulePlan\nimport datetime\n"
    daily += "plan = SchedulePlan(kind='cron', arguments={'expression': '0 0 * * *'}, summary='@daily')\n"
    daily += "start = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)\n"
    bed.write("a.py", HEAD + daily + "dag('a', schedule=plan, start_date=start, catchup=True)\ndag('b')\n")
    async with at_work():
        await bed.has(a=1, b=1)
    row = await bed.connection.fetchrow("select * from dag where dag_id = 'a'")
    assert str(row["next_run_at"]) == "2024-01-02 00:00:00+00:00"
    assert str(row["next_logical_date"]) == str(row["next_interval_start"]) == "2024-01-01 00:00:00+00:00"
    assert (row["has_schedule"], row["timetable_summary"]) == (True, "@daily")
    assert row["timetable_description"] == "At 00:00 every day, UTC"
    row = await bed.connection.fetchrow("select * from dag where dag_id = 'b'")
    assert (row["has_schedule"], row["next_run_at"], row["timetable_summary"]) == (False, None, "When asked for")
