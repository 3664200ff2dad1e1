"""`bide status`: who works, what runs, and what is stuck, each with what would move it."""

from datetime import timedelta

import pytest
import yaml

from bide.control.stuck import Situation, stuck
from bide.model.plan import DagPlan
from bide.store import jobs
from bide.store.control import Pool
from bide.store.jobs import JobType, NewJob
from bide.store.situation import FreeWaits, ParkedWaits, QueueLoad, WaitCounts
from tests.cli.person import Person
from tests.scheduler.town import Town, dag, task
from tests.store.scene import ALWAYS

SECOND = timedelta(seconds=1)


async def register(town: Town, kind: JobType, *queues: str, capacity: int | None = None) -> int:
    """Let a service begin, with a heartbeat every five seconds."""
    return await jobs.register(
        town.db, "test", NewJob(job_type=kind, hostname="here", pid=7, queues=queues, capacity=capacity, version="1.2")
    )


def part(lines: list[str], title: str) -> list[str]:
    """Find what stands under a heading."""
    rest = lines[lines.index(title) + 1 :]
    ends = [rest.index(other) for other in ("Services", "Work", "Queues", "Pools", "Stuck") if other in rest]
    return rest[: min(ends, default=len(rest))]


async def trouble(person: Person) -> list[str]:
    """Hear what is stuck, without who is missing."""
    told = (await person.says("status", "-o", "json")).json()["stuck"]
    return [one for one in told if not one.startswith("No ")]


async def test_services_are_shown_with_their_heartbeats_and_loads(person: Person, town: Town, sales: DagPlan) -> None:
    await register(town, JobType.SCHEDULER)
    await register(town, JobType.DAG_PROCESSOR)
    worker = await register(town, JobType.WORKER, "default", "gpu", capacity=8)
    town.worker = worker
    await town.pass_time(3 * SECOND)
    lines = await person.done("status")
    services = {line.split()[0]: line for line in part(lines, "Services")[1:] if " town " not in line}
    assert services["Scheduler"].split()[2:5] == ["alive", "3.0s", "ago"]
    assert services["Worker"] == f"Worker {worker} alive 3.0s ago 0 of 8 default, gpu here 7 2030-01-01 12:00:00Z 1.2"
    assert part(lines, "Work") == ["runs 1 queued", "tasks none", "waits none"]
    assert part(lines, "Stuck") == ["Nothing."]
    assert lines[0].startswith("The database postgresql://bide:***@")


async def test_what_is_going_on_is_counted(person: Person, town: Town, sales: DagPlan) -> None:
    await register(town, JobType.WORKER, "default")
    await town.rounds.go()
    await town.pass_time(90 * SECOND)
    lines = await person.done("status")
    assert part(lines, "Work") == ["runs 1 running", "tasks 3 none, 1 queued", "waits none"]
    assert part(lines, "Queues")[1].startswith("default 1 1m 30s ")
    told = await person.says("status", "-o", "json")
    assert told.json()["tasks"] == [{"state": "none", "number": 3}, {"state": "queued", "number": 1}]
    assert yaml.safe_load((await person.says("status", "-o", "yaml")).out).keys() == told.json().keys()


async def test_missing_services_are_named_with_how_to_start_them(person: Person, database: str) -> None:
    lines = await person.done("status")
    assert part(lines, "Services") == ["None."]
    assert part(lines, "Stuck") == [
        "! No scheduler is alive, so no run is launched and no task is started: start `bide up`, or `bide scheduler` "
        "alone.",
        "! No DAG processor is alive, so changes in DAG files are not noticed: start `bide up`, or "
        "`bide dag-processor` alone.",
    ]


async def test_a_service_that_has_become_silent_is_named(person: Person, town: Town) -> None:
    number = await register(town, JobType.SCHEDULER)
    await town.pass_time(20 * SECOND)
    lines = await person.done("status")
    assert f"Scheduler {number} silent 20s ago here 7 2030-01-01 12:00:00Z 1.2" in lines
    assert f"SchedulerJob {number} on here has been silent for 20 s" in (await trouble(person))[0]
    await jobs.bury(town.db, "test", SECOND, ALWAYS)
    assert f"Scheduler {number} given up 20s ago here 7 2030-01-01 12:00:00Z 1.2" in await person.done("status")
    assert await trouble(person) == []
    # After an hour nobody asks about it any more.
    await town.pass_time(3601 * SECOND)
    assert not [line for line in await person.done("status") if line.startswith("Scheduler ")]


async def test_queued_tasks_that_no_living_worker_serves_are_named(person: Person, town: Town) -> None:
    plan = dag("gpu", task("a", queue="gpu"), task("b", queue="gpu"), task("c"))
    await town.store(plan)
    await town.launch(plan)
    await town.rounds.go()
    await register(town, JobType.WORKER, "default")
    (found,) = await trouble(person)
    assert found.startswith("2 tasks queued in 'gpu', which no living worker serves")
    await register(town, JobType.WORKER, "gpu")
    assert await trouble(person) == []
    await town.pass_time(20 * SECOND)
    assert "1 task queued in 'default', which no living worker serves" in " ".join(await trouble(person))


async def test_callbacks_that_nobody_makes_are_named(person: Person, town: Town) -> None:
    await register(town, JobType.WORKER, "default")
    await town.connection.execute(
        "insert into callback (callback_type, queue, created_at) values"
        " ('failure', 'gpu', bide_now()), ('failure', 'default', bide_now())"
    )
    assert await trouble(person) == ["1 callback for 'gpu', which no living worker serves: start one for it."]
    await register(town, JobType.WORKER, "gpu")
    assert await trouble(person) == []


async def test_pools_that_are_full_missing_or_too_small_are_named(person: Person, town: Town) -> None:
    await person.done("pools", "set", "narrow", "1")
    await person.done("pools", "set", "small", "2")
    await register(town, JobType.WORKER, "default")
    tasks = [task("a", pool="narrow"), task("b", pool="narrow"), task("c", pool="small", pool_slots=3)]
    plan = dag("tight", *tasks, task("d", pool="gone"))
    await town.store(plan)
    await town.launch(plan)
    await town.rounds.go()
    assert await trouble(person) == [
        "The pool 'gone' does not exist: make it with `bide pools set` for 1 task.",
        "The pool 'small' has 2 slots, and up to 3 are needed by each of 1 task: give it more with `bide pools set`.",
        "The pool 'narrow' is full: 1 slot wanted, 1 there. It moves on as its tasks end; `bide pools set` gives it "
        "more.",
    ]


async def test_runs_of_paused_dags_are_named(person: Person, town: Town, sales: DagPlan) -> None:
    await person.done("dags", "pause", "sales")
    assert await trouble(person) == ["1 run of paused DAGs: `bide dags unpause` lets them go on."]
    assert part(await person.done("status"), "Work")[0] == "runs 1 queued in paused DAGs"


async def test_waits_that_nobody_holds_are_named(person: Person, town: Town) -> None:
    await town.connection.execute(
        "insert into trigger (classpath, kwargs, created_date, queue) values"
        " ('a.B', 'x', bide_now(), null), ('a.B', 'x', bide_now(), 'gpu'), ('a.B', 'x', bide_now(), 'gpu')"
    )
    assert await trouble(person) == [
        "1 wait without a queue, which no living triggerer serves: start `bide triggerer`.",
        "2 waits of the queue 'gpu', which no living triggerer serves: start `bide triggerer --queues gpu`.",
    ]
    assert part(await person.done("status"), "Work")[-1] == "waits 0 tasks: 3 held by nobody"
    await register(town, JobType.TRIGGERER)
    await register(town, JobType.TRIGGERER, "gpu")
    # They have only not been taken yet.
    assert await trouble(person) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"free_waits": [FreeWaits("", 3, 30 * SECOND, 2)]}, "3 waits held by nobody, the oldest for 30 s, although 2"),
        ({"parked_waits": [ParkedWaits("no such key", 1)]}, "1 wait put aside: no such key"),
        (
            {"waits": WaitCounts(3, 3, 0, 0, 0, 2, 60 * SECOND)},
            "2 waits overdue, one for 60 s: a scheduler that is alive",
        ),
        ({"import_errors": 1}, "1 DAG file with errors"),
        ({"callbacks": [QueueLoad("q", 9, 61 * SECOND, 2)]}, "9 callbacks for 'q' not made yet, one for 61 s"),
        ({"pools": [Pool("p", 2, True, "", 0, 0, 2, 5)]}, "The pool 'p' is full: 5 slots wanted, 2 there."),
    ],
)
def test_other_things_that_are_stuck_are_named(found: dict[str, object], said: str) -> None:
    nothing: dict[str, object] = {field: [] for field in Situation.__struct_fields__}
    counts = WaitCounts(0, 0, 0, 0, 0, 0, None)
    sentences = stuck(Situation(**nothing | {"import_errors": 0, "waits": counts} | found))  # type: ignore[arg-type]
    assert said in " ".join(sentences)
