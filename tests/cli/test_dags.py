"""`bide dags`."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from bide.model.plan import DagPlan, MapInput, MapPlan, MapSource, ParamPlan, SchedulePlan
from bide.store import plans
from bide.store.plans import FoundFile
from tests.cli.person import Person
from tests.scheduler.town import NOW, Town, dag, task

DAILY = SchedulePlan(kind="cron", arguments={"expression": "0 3 * * *"}, summary="0 3 * * *")


@pytest.fixture
async def three(town: Town) -> None:
    """Three DAGs: one that is paused, one that runs, and one that is gone."""
    daily = {"timetable_summary": "0 3 * * *", "timetable_description": "At 3:00, UTC", "has_schedule": True}
    await town.store(dag("etl_sales", task("load"), schedule=DAILY), fileloc="etl/sales.py", tags=["daily"], **daily)
    await town.store(dag("etl_stock", task("load")), is_paused=True, owners="ada")
    await town.store(dag("old"), gone_at=NOW)
    plan = dag("etl_sales", task("load"), schedule=DAILY)
    await town.launch(plan, "first", "second")
    await town.rounds.go()


async def test_dags_are_listed_with_how_they_stand(person: Person, three: None) -> None:
    heads, sales, stock = await person.done("dags", "list")
    assert heads == "dag is schedule runs last run owner tags file"
    assert sales == "etl_sales active 0 3 * * * 2 running running daily etl/sales.py"
    assert stock == "etl_stock paused ada"


async def test_programs_get_everything_about_them(person: Person, three: None) -> None:
    said = await person.says("dags", "list", "-o", "json")
    sales, stock = said.json()
    assert (sales["dag_id"], sales["running_runs"], sales["last_state"]) == ("etl_sales", 2, "running")
    assert (stock["is_paused"], stock["tags"], stock["next_run_at"]) == (True, [], None)
    said = await person.says("dags", "list", "-o", "yaml")
    assert yaml.safe_load(said.out) == [sales, stock]


async def test_some_are_chosen_by_name_pattern_and_tag(person: Person, three: None) -> None:
    async def named(*arguments: str) -> list[str]:
        return [one["dag_id"] for one in (await person.says("dags", "list", *arguments, "-o", "json")).json()]

    assert await named("etl_*") == ["etl_sales", "etl_stock"]
    assert await named("*stock") == ["etl_stock"]
    assert await named("etl_stock", "etl_sales") == ["etl_sales", "etl_stock"]
    assert await named("--tag", "daily") == ["etl_sales"]
    assert await named("--gone") == ["old"]
    assert await named("--gone", "o*") == ["old"]
    assert await named("--tag", "nothing") == []


async def test_a_list_that_goes_on_says_so(person: Person, three: None) -> None:
    said = await person.says("dags", "list", "--limit", "1")
    assert len(said.lines) == 2
    assert said.err == "There are more than these 1; --limit shows more.\n"


async def test_an_empty_list_is_explained_to_people_and_empty_for_programs(person: Person) -> None:
    said = await person.says("dags", "list")
    assert (said.code, said.out) == (0, "")
    assert said.err.startswith("There are none.")
    assert (await person.says("dags", "list", "-o", "json")).out == "[]\n"
    assert (await person.says("dags", "list", "-o", "yaml")).out == "[]\n"


async def test_an_unknown_name_is_refused_with_the_near_one(person: Person, three: None) -> None:
    assert await person.refused("dags", "show", "etl_sale") == (
        "Error: There is no DAG 'etl_sale'; did you mean 'etl_sales'?"
    )
    assert "did you mean 'etl_stock'?" in await person.refused("dags", "list", "etl_stok")
    assert "No DAG matches 'x*'" in await person.refused("dags", "pause", "x*")
    assert "did you mean 'etl_sales'?" in await person.refused("dags", "trigger", "etl-sales")


async def test_all_about_a_dag(person: Person, town: Town) -> None:
    mapped = MapPlan(inputs=(MapInput(name="day", sources=(MapSource(task_id="days"),)),))
    plan = dag(
        "sales",
        task("report", "load", trigger_rule="all_done", pool="mail"),
        task("load", "days", mapped=mapped),
        task("days"),
        params={"day": ParamPlan(required=True, schema={"type": "string"}, description="Which day")},
        dagrun_timeout=timedelta(hours=2),
    )
    await town.store(plan, fileloc="sales.py", description="All sales", timetable_summary="@daily")
    lines = await person.done("dags", "show", "sales")
    assert lines[:4] == ["DAG sales", "is active", "description All sales", "schedule @daily ()"]
    assert "time limit 2h" in lines
    assert "day must be given string Which day" in lines
    tasks = lines[lines.index("Tasks") + 1 :]
    assert tasks == [
        "task operator comes after starts on mapped over pool",
        "days Played",
        "load Played days day",
        "report Played load all_done mail",
    ]
    told = (await person.says("dags", "show", "sales", "-o", "json")).json()
    assert [one["task_id"] for one in told["plan"]["tasks"]] == ["report", "load", "days"]
    assert told["latest_runs"] == []


async def test_its_source_can_be_read(person: Person, town: Town, sales: DagPlan) -> None:
    await town.connection.execute("update dag_version set source = 'from bide import DAG\n'")
    assert await person.done("dags", "show", "sales", "--source") == ["from bide import DAG"]


async def test_dags_are_paused_and_go_on(person: Person, three: None, town: Town) -> None:
    assert await person.done("dags", "pause", "etl_*") == ["etl_sales: paused", "etl_stock: was paused already"]
    assert await town.connection.fetchval("select count(*) from dag where is_paused") == 2
    assert await person.done("dags", "unpause", "etl_sales") == ["etl_sales: active"]
    assert await town.connection.fetchval("select is_paused from dag where dag_id = 'etl_sales'") is False


async def test_a_run_is_launched_and_named(person: Person, town: Town, sales: DagPlan) -> None:
    assert await person.done("dags", "trigger", "sales", "--run-id", "mine", "--logical-date", "2030-02-01") == ["mine"]
    row = await town.connection.fetchrow("select * from dag_run where run_id = 'mine'")
    assert row["logical_date"] == datetime(2030, 2, 1, tzinfo=UTC)
    who = await town.connection.fetchval("select who from history where dag_run_id = $1", row["id"])
    assert who == "ada (command line)"
    told = (await person.says("dags", "trigger", "sales", "-o", "json")).json()
    assert told == {
        "dag_id": "sales",
        "run_id": "manual__2030-01-01T12:00:00+00:00",
        "logical_date": "2030-01-01T12:00:00Z",
    }


async def test_the_same_run_is_not_launched_twice(person: Person, sales: DagPlan) -> None:
    await person.done("dags", "trigger", "sales", "--run-id", "mine")
    assert "has a run called 'mine' already" in await person.refused("dags", "trigger", "sales", "--run-id", "mine")
    date = ["--logical-date", "2030-01-01T12:00+02:00"]
    await person.done("dags", "trigger", "sales", *date)
    assert "has a run of that date already" in await person.refused("dags", "trigger", "sales", *date)


async def test_params_come_as_text_from_a_file_or_by_a_pipe(person: Person, town: Town, tmp_path: Path) -> None:
    await town.store(dag("sales", params={"day": ParamPlan(required=True, schema={"type": "string"})}))
    conf = '{"day": "2030-01-31"}'
    (tmp_path / "conf.json").write_text(conf)
    await person.done("dags", "trigger", "sales", "--run-id", "a", "--conf", conf)
    await person.done("dags", "trigger", "sales", "--run-id", "b", "--conf", "@conf.json")
    await person.says("dags", "trigger", "sales", "--run-id", "c", "--conf", "-", given=conf)
    rows = await town.connection.fetch("select run_id, conf from dag_run order by run_id")
    assert {row["run_id"]: json.loads(row["conf"]) for row in rows} == {key: {"day": "2030-01-31"} for key in "abc"}
    assert "day must be given." in await person.refused("dags", "trigger", "sales")
    assert "12 is not of type 'string'" in await person.refused("dags", "trigger", "sales", "--conf", '{"day": 12}')


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("--conf", "{", "--conf is no JSON"),
        ("--conf", "[1]", "must be a JSON object"),
        ("--conf", "@gone.json", "gone.json cannot be read: No such file or directory."),
        ("--logical-date", "tomorrow", "'tomorrow' is no date; write 2030-01-31"),
        ("--logical-date", "0001-01-01T00:00+14:00", "is no date"),
    ],
)
async def test_what_cannot_be_read_is_wrong_usage(person: Person, option: str, value: str, why: str) -> None:
    assert why in await person.refused("dags", "trigger", "sales", option, value, code=2)


async def test_a_run_of_a_paused_dag_is_launched_and_a_hint_given(person: Person, town: Town, sales: DagPlan) -> None:
    await town.connection.execute("update dag set is_paused = true")
    said = await person.says("dags", "trigger", "sales", "--run-id", "mine")
    assert (said.code, said.out) == (0, "mine\n")
    assert "`bide dags unpause sales` lets it begin" in said.err


async def test_a_dag_that_is_gone_launches_no_run(person: Person, three: None) -> None:
    assert "in no file any more" in await person.refused("dags", "trigger", "old")


async def test_files_with_errors_are_listed_and_the_traceback_of_one_is_shown(person: Person, town: Town) -> None:
    assert (await person.says("dags", "errors")).err == "Every DAG file can be used.\n"
    for name in ("a.py", "b.py"):
        failed = FoundFile(
            fileloc=name,
            content_hash="1",
            size=1,
            mtime=NOW,
            seconds=0.1,
            error=f"{name}: line 3: no such name",
            traceback="Traceback: x\n  line 3",
        )
        await plans.store_files(town.db, [failed], [])
    assert await person.done("dags", "errors") == [
        "file since error",
        "a.py 2030-01-01 12:00:00Z a.py: line 3: no such name",
        "b.py 2030-01-01 12:00:00Z b.py: line 3: no such name",
    ]
    assert (await person.done("dags", "errors", "a.py"))[2:] == ["a.py", "Traceback: x", "line 3"]
    assert [one["fileloc"] for one in (await person.says("dags", "errors", "-o", "json")).json()] == ["a.py", "b.py"]
    assert "did you mean 'a.py'?" in await person.refused("dags", "errors", "aa.py")
    assert "2 DAG files with errors" in (await person.says("status")).out
