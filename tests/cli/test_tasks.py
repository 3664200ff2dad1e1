"""`bide tasks list` and `show`: what there is to do, and the story of one task."""

import json
from datetime import timedelta

import pytest
import yaml

from bide.model.outcome import Failed, Succeeded
from bide.model.plan import DagPlan, MapInput, MapPlan, MapSource
from bide.model.retry import RetryPolicy
from bide.store import jobs, records
from bide.store.jobs import JobType, NewJob
from bide.store.records import NewRecord
from tests.cli.person import Person
from tests.scheduler.town import NOW, Town, dag, task

THREE = MapPlan(inputs=(MapInput(name="n", sources=(MapSource(length=3),)),))


async def test_tasks_are_listed_in_the_order_in_which_they_run(person: Person, sales: DagPlan) -> None:
    assert await person.done("tasks", "list", "sales") == [
        "task operator comes after",
        "extract Played",
        "clean Played extract",
        "check Played extract",
        "load Played clean, check",
    ]
    told = (await person.says("tasks", "list", "sales", "-o", "json")).json()
    assert [one["task_id"] for one in told] == ["extract", "clean", "check", "load"]
    assert "did you mean 'sales'?" in await person.refused("tasks", "list", "sale")


@pytest.fixture
async def retried(town: Town, sales: DagPlan) -> Town:
    """A run whose first task has failed once, left values, and told what it used."""
    plan = dag("sales", task("extract", retry=RetryPolicy(retries=1, delay=timedelta(minutes=5))))
    await town.store(plan)
    await town.launch(plan, "again")
    await town.play({"extract": Failed("the source is down")})
    await town.pass_time(timedelta(minutes=5))
    await town.play({"extract": Succeeded({"return_value": '{"rows": 12}', "note": '"' + "x" * 20_000 + '"'})})
    (id,) = await town.ids("extract", run_id="again")
    for leg, end in ((1, "signal 9"), (2, None)):
        record = NewRecord(
            task_instance_id=id,
            leg=leg,
            try_number=leg,
            pid=42,
            started_at=NOW,
            exit=end,
            peak_memory_kb=2000,
            cpu_sec=0.25,
        )
        await records.record_legs(town.db, town.worker, [record])
    return town


async def test_the_story_of_a_task(person: Person, retried: Town) -> None:
    lines = await person.done("tasks", "show", "sales", "again", "extract")
    assert lines[:5] == [
        "task sales again extract",
        "state success",
        "why It succeeded at 2030-01-01 12:05:00Z in its try 2 of 2.",
        "operator Played",
        "try 2 of 2",
    ]
    legs, xcoms, history = lines.index("Legs"), lines.index("XComs"), lines.index("History")
    assert lines[legs + 1 : xcoms] == [
        "leg try began took worker pid cpu memory end",
        f"1 1 2030-01-01 12:00:00Z 5m {retried.worker} on town 42 250ms 2.0 MB signal 9",
        f"2 2 2030-01-01 12:00:00Z 5m {retried.worker} on town 42 250ms 2.0 MB by itself",
    ]
    assert lines[xcoms + 2].startswith('note 20.0 kB "xxx')
    assert lines[xcoms + 3] == 'return_value 12 B {"rows": 12}'
    assert lines[history + 2 :] == [
        "2030-01-01 12:00:00Z ready none → scheduled scheduler",
        "2030-01-01 12:00:00Z 0ms enqueue scheduled → queued 1 scheduler",
        "2030-01-01 12:00:00Z 0ms start queued → running 1 1 town",
        "2030-01-01 12:00:00Z 0ms fail running → up_for_retry 1 1 town the source is down",
        "2030-01-01 12:05:00Z 5m wake up_for_retry → scheduled 1 1 scheduler",
        "2030-01-01 12:05:00Z 0ms enqueue scheduled → queued 1 2 scheduler",
        "2030-01-01 12:05:00Z 0ms start queued → running 2 2 town",
        "2030-01-01 12:05:00Z 0ms succeed running → success 2 2 town",
    ]


async def test_programs_get_the_story_with_its_values(person: Person, retried: Town) -> None:
    said = await person.says("tasks", "show", "sales", "again", "extract", "-o", "json")
    told = said.json()
    assert told["task"]["state"] == "success"
    assert [(leg["exit"], leg["duration"]) for leg in told["legs"]] == [("signal 9", 300.0), (None, 300.0)]
    note, rows = told["xcoms"]
    assert (rows["value"], rows["is_whole"]) == ({"rows": 12}, True)
    assert (len(note["value"]), note["size"], note["is_whole"]) == (10_000, 20_002, False)
    assert told["history"][-1]["verb"] == "succeed"
    shown = await person.says("tasks", "show", "sales", "again", "extract", "-o", "yaml")
    assert yaml.safe_load(shown.out) == told


async def test_of_a_mapped_task_the_instances_are_shown_and_one_on_demand(person: Person, town: Town) -> None:
    plan = dag("many", task("a", mapped=THREE))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"a": lambda started: Failed("no") if started.map_index == 1 else Succeeded()})
    said = await person.says("tasks", "show", "many", "run", "a")
    assert [line.split()[:2] for line in said.lines] == [
        ["index", "state"],
        ["0", "success"],
        ["1", "failed"],
        ["2", "success"],
    ]
    assert "--map-index shows one of them." in said.err
    assert (await person.done("tasks", "show", "many", "run", "a", "--map-index", "1"))[0] == "task many run a [1]"
    told = (await person.says("tasks", "show", "many", "run", "a", "-o", "json")).json()
    assert [one["state"] for one in told] == ["success", "failed", "success"]
    assert "it has those from 0 to 2" in await person.refused("tasks", "show", "many", "run", "a", "--map-index", "3")
    assert "say which, with --map-index 0 to 2" in await person.refused("tasks", "logs", "many", "run", "a")


async def test_where_a_task_is_that_runs_or_waits(person: Person, town: Town, sales: DagPlan) -> None:
    await town.rounds.go()
    lines = await person.done("tasks", "show", "sales", "run", "extract")
    assert lines[1] == "state queued"
    id = (await town.ids("extract"))[0]
    await town.connection.execute(
        "with w as (insert into trigger (classpath, kwargs, created_date, parked_until, parked_why)"
        " values ('my.Trigger', 'x', bide_now() - interval '90 s', bide_now() + interval '1 m', 'no such key')"
        " returning id)"
        " update task_instance set state = 'deferred', trigger_id = w.id from w where task_instance.id = $1",
        id,
    )
    assert "waits for my.Trigger, for 1m 30s; put aside: no such key" in await person.done(
        "tasks", "show", "sales", "run", "extract"
    )
    await town.connection.execute("update trigger set parked_until = null, parked_why = null")
    waits = "waits for my.Trigger, for 1m 30s; nobody holds it yet"
    assert waits in await person.done("tasks", "show", "sales", "run", "extract")
    holder = await jobs.register(town.db, "test", NewJob(job_type=JobType.TRIGGERER, hostname="here"))
    await town.connection.execute("update trigger set triggerer_id = $1", holder)
    waits = f"waits for my.Trigger, for 1m 30s, held by triggerer {holder}"
    assert waits in await person.done("tasks", "show", "sales", "run", "extract")
    await town.connection.execute("update trigger set triggerer_id = null, due_at = bide_now() + interval '1 m'")
    waits = "waits for my.Trigger, for 1m 30s, due 2030-01-01 12:01:00Z"
    assert waits in await person.done("tasks", "show", "sales", "run", "extract")


async def test_unknown_tasks_are_refused_with_the_near_one(person: Person, town: Town, sales: DagPlan) -> None:
    assert await person.refused("tasks", "show", "sales", "run", "lood") == (
        "Error: There is no task 'lood' in sales; did you mean 'load'?"
    )
    assert "did you mean 'run'?" in await person.refused("tasks", "show", "sales", "rn", "load")
    await town.store(dag("sales", task("newcomer")))
    assert "has no task 'newcomer': it runs with another version" in await person.refused(
        "tasks", "show", "sales", "run", "newcomer"
    )
    # What a task that is no longer in the DAG has done can still be seen.
    assert (await person.done("tasks", "show", "sales", "run", "load"))[1] == "state none"


async def test_what_tasks_say_cannot_move_the_cursor(person: Person, town: Town, sales: DagPlan) -> None:
    await town.play({"extract": Failed("\x1b[2Jgone")})
    said = await person.says("tasks", "show", "sales", "run", "extract")
    assert "\x1b" not in said.out
    assert "\ufffd[2Jgone" in said.out
    told = (await person.says("tasks", "show", "sales", "run", "extract", "-o", "json")).out
    assert "\x1b[2Jgone" in [one["why"] for one in json.loads(told)["history"]]
