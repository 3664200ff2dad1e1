"""Tasks that have not begun."""

from typing import Any

from bide.model.outcome import Failed
from bide.model.plan import TaskPlan
from bide.store import deferral
from tests.cli.waits import begin, defer
from tests.cli.why.cases import MINUTE, SECOND, S, case, launched, scheduler
from tests.scheduler.town import NOW, PATIENCE, WHO, Town, dag, task


@case(
    S.NONE, "no scheduler", "Nothing moves, because no scheduler is alive: start `bide up`, or `bide scheduler` alone."
)
async def _(town: Town) -> str:
    await launched(town, task("a"))
    return "a"


@case(S.NONE, "run queued, paused", "Its run has not begun, because the DAG is paused: `bide dags unpause d`.")
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await scheduler(town)
    await town.connection.execute("update dag set is_paused = true")
    return "a"


@case(
    S.NONE,
    "max_active_runs",
    "Its run is queued, because 1 run of d may be active and are (first); it begins when one ends.",
)
async def _(town: Town) -> str:
    plan = dag("d", task("a"), max_active_runs=1)
    await town.store(plan)
    await town.launch(plan, "first")
    await town.rounds.go()
    await town.launch(plan)
    await scheduler(town)
    return "a"


@case(S.NONE, "run queued", "Its run is queued, and begins at the scheduler's next look.")
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await scheduler(town)
    return "a"


@case(
    S.NONE,
    "upstream",
    "It waits for a (queued), b (queued), c (queued) and 1 more: its rule all_success needs all of them to succeed.",
)
async def _(town: Town) -> str:
    await launched(town, task("a"), task("b"), task("c"), task("d"), task("last", "a", "b", "c", "d"))
    await town.rounds.go()
    await scheduler(town)
    return "last"


@case(S.NONE, "past", "It looks back (depends_on_past), and in the run before it is failed: it goes on when")
async def _(town: Town) -> str:
    plan = dag("d", task("a", depends_on_past=True))
    await town.store(plan)
    await town.launch(plan, "first", logical_date=NOW - MINUTE)
    await town.play({"a": Failed("no")})
    await town.launch(plan, logical_date=NOW)
    await town.rounds.go()
    await scheduler(town)
    return "a"


@case(S.NONE, "to be looked at", "Nothing before it is open: it moves on at the scheduler's next look.")
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await town.connection.execute("update dag_run set state = 'running', start_date = bide_now()")
    await scheduler(town)
    return "a"


@case(
    S.RESTARTING,
    "still stopping",
    "It shall start afresh, but the worker N on town has not yet said that its process is gone",
)
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await begin(town)
    await town.clear("a")
    return "a"


@case(
    S.SCHEDULED,
    "failing",
    "Its wait has failed (Trigger timeout); a retry or the end follows when there is a scheduler",
)
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await defer(town, a={"timeout": SECOND})
    await town.pass_time(MINUTE)
    await deferral.lapse(town.db, WHO, PATIENCE, 9)
    return "a"


@case(S.SCHEDULED, "paused", "Its DAG is paused: `bide dags unpause d` lets it go on.")
async def _(town: Town) -> str:
    await launched(town, task("a", pool="gone"))
    await town.rounds.go()
    await scheduler(town)
    await town.connection.execute("update dag set is_paused = true")
    return "a"


@case(
    S.SCHEDULED,
    "on_kill",
    "It may start when the on_kill of its last wait (waits.HttpTrigger, cleared) has run: no triggerer is alive to run "
    "it; it is given up at 2030-01-01 12:00:30Z.",
)
async def _(town: Town) -> str:
    await launched(town, task("a"))
    await defer(town, a={"on_kill": True})
    await town.clear("a")
    await town.rounds.go()
    await scheduler(town)
    return "a"


@case(S.SCHEDULED, "no pool", "There is no pool 'gone': make it with `bide pools set gone SLOTS`.")
async def _(town: Town) -> str:
    await launched(town, task("a", pool="gone"))
    await town.rounds.go()
    await scheduler(town)
    return "a"


async def in_pool(town: Town, slots: int, *tasks: TaskPlan, **settings: Any) -> None:
    await town.connection.execute("insert into pool (name, slots) values ('narrow', $1)", slots)
    await launched(town, *tasks, **settings)
    await town.rounds.go()
    await scheduler(town)


@case(S.SCHEDULED, "pool too small", "It needs 3 slots, and the pool 'narrow' has only 2: give it more")
async def _(town: Town) -> str:
    await in_pool(town, 2, task("a", pool="narrow", pool_slots=3))
    return "a"


@case(
    S.SCHEDULED,
    "pool full",
    "The pool 'narrow' is full: its 2 slots are taken, most of all by d a (2); 1 task of it comes first. `bide pools "
    "set narrow` gives it more.",
)
async def _(town: Town) -> str:
    narrow = {"pool": "narrow", "pool_slots": 2}
    await in_pool(town, 2, task("a", **narrow), task("b", **narrow), task("c", **narrow))
    return "c"


@case(S.SCHEDULED, "max_active_tasks", "Its run has 1 task at work, and max_active_tasks is 1: it goes on when one of")
async def _(town: Town) -> str:
    await in_pool(town, 9, task("a"), task("b"), max_active_tasks=1)
    return "b"


@case(
    S.SCHEDULED,
    "max_active_tis_per_dag",
    "max_active_tis_per_dag of a is 1, and so many are at work in all runs: it goes on when one of them ends or waits.",
)
async def _(town: Town) -> str:
    plan = dag("d", task("a", max_active_tis_per_dag=1))
    await town.store(plan)
    await town.launch(plan, "first", "run")
    await town.rounds.go()
    await scheduler(town)
    return "a"


@case(
    S.SCHEDULED, "max_active_tis_per_dagrun", "max_active_tis_per_dagrun of a is 1, and so many are at work in its run"
)
async def _(town: Town) -> str:
    plan = dag("d", task("a", max_active_tis_per_dagrun=1))
    await town.store(plan)
    await town.launch(plan)
    # The second instance of a mapped task.
    await town.connection.execute(
        "insert into task_instance (dag_run_id, dag_id, run_id, task_id, map_index, max_active_tis_per_dagrun, state)"
        " select dag_run_id, dag_id, run_id, task_id, 1, 1, 'queued' from task_instance"
    )
    await town.connection.execute("update dag_run set state = 'running', start_date = bide_now()")
    await town.connection.execute("update task_instance set state = 'scheduled' where map_index = -1")
    await scheduler(town)
    return "a"


@case(S.SCHEDULED, "room", "It has been ready for 2.0s, and the pool 'default_pool' has room: it is queued at the")
async def _(town: Town) -> str:
    await launched(town, task("a", pool="later"))
    await town.rounds.go()
    await town.pass_time(2 * SECOND)
    await scheduler(town)
    await town.connection.execute("update task_instance set pool = 'default_pool'")
    return "a"
