"""P16: what a scheduler costs for each task, and how that grows with the number of tasks.

The workers are played: what they say to the database is not timed, only the rounds of the scheduler are. Beside them
stands what the two changes of each task that are a scheduler's own cost in bare SQL, as many at once.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import asyncpg

from benchmarks.bed import PATIENCE, WHO, bare_connection, fresh_database, opened, registered
from benchmarks.report import Report, share
from bide.model.instances import new_tasks
from bide.model.plan import DagPlan, TaskPlan, encode_plan
from bide.process.waits import WaitWriter
from bide.scheduler.rounds import Rounds
from bide.sealing import Sealer, generate_key
from bide.store import legs, runs, views
from bide.store.database import Database
from bide.store.rows import Leg
from bide.store.runs import NewRun

TITLE = "P16: milliseconds of scheduler for each task, and how they grow"
AT_ONCE = 64
"""Legs that the played worker ends between two rounds."""
BATCH_SIZE = 500  # as scheduler.batch_size has it
WRITER = WaitWriter(Sealer([generate_key()]))
MOST_GROWTH = 1.5
ROUNDS = 3
# What `ready` and `enqueue` change for each task, in bare SQL.
FLOOR = [
    f"""
    with changed as (update task_instance set {changes} where id = any ($2::bigint[]) returning *)
    insert into history (at, verb, task_instance_id, dag_run_id, from_state, to_state, leg, try_number, who)
    select now(), '{verb}', id, dag_run_id, '{leaves}', state, leg, try_number, $1 from changed"""
    for verb, leaves, changes in (
        ("ready", "none", "state = 'scheduled'"),
        ("enqueue", "scheduled", "state = 'queued', leg = leg + 1, queued_at = now()"),
    )
]
LINKS: Mapping[str, Callable[[int, int], range]] = {
    "none": lambda nth, number: range(0),
    "chain": lambda nth, number: range(max(0, nth - 1), nth),
    "join": lambda nth, number: range(nth if nth == number - 1 else 0),
}


@dataclass(frozen=True)
class Shape:
    """So many runs at once of a DAG of so many tasks, of which so many may run at once."""

    name: str
    links: str
    sizes: tuple[tuple[int, int], ...]
    at_once: int = AT_ONCE

    def plan(self, number: int) -> DagPlan:
        """Make the DAG."""
        ids = [f"task_{nth}" for nth in range(number)]
        before = [tuple(ids[at] for at in LINKS[self.links](nth, number)) for nth in range(number)]
        tasks = (TaskPlan(task_id=id, operator="Noop", upstream=up) for id, up in zip(ids, before, strict=True))
        return DagPlan(dag_id="bench", tasks=tuple(tasks), max_active_tasks=1_000_000)


SHAPES = (
    Shape("one run, tasks side by side", "none", ((1, 100), (1, 1000), (1, 10_000))),
    Shape("one run, the last task after all the others", "join", ((1, 100), (1, 1000), (1, 10_000))),
    Shape("many runs, 10 tasks one after the other", "chain", ((10, 10), (100, 10), (1000, 10))),
    Shape("one run, tasks one after the other", "chain", ((1, 100), (1, 300), (1, 1000)), at_once=1),
)


class Watched(Database):
    """The way to the database, counting what is asked for on it, and how long that takes."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.stale_writes = Counter()
        self.asked: Counter[str] = Counter()
        self.seconds: dict[str, float] = defaultdict(float)

    async def rows(self, name: str, *arguments: object) -> list[asyncpg.Record]:
        """Run a statement."""
        began = perf_counter()
        try:
            return await self._db.rows(name, *arguments)
        finally:
            self.asked[name] += 1
            self.seconds[name] += perf_counter() - began


@dataclass
class Cost:
    """What one task has cost."""

    ms: float
    floor_ms: float
    statements: float


async def measure(server_url: str, report: Report) -> None:
    """Measure every shape in every size; in each it is compared with what is cheapest for fewer tasks."""
    for shape in report.each(SHAPES):
        cheapest = math.inf
        for number, tasks in shape.sizes[: None if report.scale == 1 else 1]:
            report.progress(f"{shape.name}: {number} × {tasks}")
            rounds = share(ROUNDS, report.scale) if number * tasks <= 1000 else 1
            cost = await costs(server_url, shape, number, tasks, rounds)
            cheapest = min(cheapest, cost.ms)
            report.add(
                shape=shape.name,
                runs=number,
                tasks_in_each=tasks,
                ms_per_task=cost.ms,
                floor_ms=cost.floor_ms,
                ratio=cost.floor_ms / cost.ms,
                statements_per_task=cost.statements,
                growth=cost.ms / cheapest,
                target=report.target("≤", MOST_GROWTH, cost.ms / cheapest),
            )


async def costs(server_url: str, shape: Shape, number: int, tasks: int, rounds: int) -> Cost:
    """Play runs to their end, on a database of their own, and tell what a task has cost in the middle round."""
    async with fresh_database(server_url) as url, opened(url, 4) as db, bare_connection(url) as connection:
        _, worker = await registered(db)
        plan = shape.plan(tasks)
        version = await stored(connection, plan, number)
        found = []
        for nth in range(rounds + 1):
            # The first round warms everything up.
            size = number if nth else 1
            new = [NewRun(f"run {nth} {one}") for one in range(size)]
            await runs.launch(db, WHO, plan.dag_id, version, "manual", None, new, new_tasks(plan))
            watched = Watched(db)
            rounds_of_its_own = Rounds(watched, lambda channel: None, WRITER, WHO, PATIENCE, BATCH_SIZE)
            seconds = await played(rounds_of_its_own, db, worker, shape)
            found.append(Cost(1000 * seconds / (size * tasks), 0.0, sum(watched.asked.values()) / (size * tasks)))
        middle = found[1:][(len(found) - 1) // 2]
        middle.floor_ms = await floor(connection, db, plan, version, shape.at_once)
    return middle


async def stored(connection: "asyncpg.Connection[asyncpg.Record]", plan: DagPlan, most_runs: int) -> int:
    """Store the DAG, and give the number of its version."""
    number: int = await connection.fetchval(
        "insert into dag_version (dag_id, number, plan, created_at) values ($1, 1, $2, now()) returning id",
        plan.dag_id,
        encode_plan(plan).decode(),
    )
    await connection.execute("update dag set version_id = $1, max_active_runs = $2", number, most_runs)
    return number


async def played(rounds: Rounds, db: Database, worker: int, shape: Shape) -> float:
    """Run everything there is to run, and tell how many seconds the scheduler took of that."""
    seconds = 0.0
    while True:
        began = perf_counter()
        await rounds.go()
        seconds += perf_counter() - began
        started = await legs.start(db, WHO, worker, await views.offered(db, ["default"], shape.at_once))
        if not started:
            return seconds
        await legs.succeed(db, WHO, [Leg(one.id, one.leg) for one in started], [])


async def floor(
    connection: "asyncpg.Connection[asyncpg.Record]", db: Database, plan: DagPlan, version: int, at_once: int
) -> float:
    """Tell how many milliseconds a task takes in bare SQL."""
    launched = await runs.launch(
        db, WHO, plan.dag_id, version, "manual", None, [NewRun("floor")], new_tasks(plan)[: 10 * at_once]
    )
    rows = await connection.fetch("select id from task_instance where dag_run_id = $1 order by id", launched[0].id)
    ids = [row["id"] for row in rows]
    statements = [await connection.prepare(text) for text in FLOOR]
    taken = []
    for at in range(0, len(ids), at_once):
        began = perf_counter()
        for statement in statements:
            await statement.fetch(WHO, ids[at : at + at_once])
        taken.append(perf_counter() - began)
    return 1000 * median(taken) / at_once
