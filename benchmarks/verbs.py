"""What each verb costs beside its floors, in batches of 1, 50 and 500 on one connection."""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from statistics import median
from time import perf_counter

import asyncpg

from benchmarks.bed import Task, bare_connection, fresh_database, opened, registered, scheduled_tasks
from benchmarks.report import Report
from benchmarks.sides import VERBS, Engine, Floor, Side, make_bare_tables
from bide.store import deferral, views
from bide.store.database import Database

ENGINE, FLOOR, BARE = "engine", "floor", "bare tables"
# Two lives of a task between them use every verb; each is timed wherever it occurs.
LIVES = (
    ("enqueue", "start", "defer", "claim", "fire", "enqueue", "start", "succeed"),
    ("enqueue", "start", "defer", "claim", "end"),
)
TASKS = {1: 100, 50: 1500, 500: 5000}
WARM_UP = 20  # statements; PostgreSQL settles on a plan after five
ROUNDS = 3


class Arena:
    """The three sides, each with tasks of its own, on one database."""

    def __init__(self, url: str, engine: Engine, floors: dict[str, Floor], connection: asyncpg.Connection) -> None:
        self.url = url
        self.engine = engine
        self.sides: dict[str, Side] = {ENGINE: engine, **floors}
        self._connection = connection
        self._runs = 0

    async def tasks(self, db: Database, number: int) -> dict[str, list[Task]]:
        """Launch as many tasks for each side."""
        found = {}
        for side in self.sides:
            self._runs += 1
            found[side] = await scheduled_tasks(db, self.url, f"run {self._runs}", number)
            for task, trigger_id in zip(found[side], await deferral.reserve_trigger_ids(db, number), strict=True):
                task.trigger_id = trigger_id
            if side == BARE:
                await self._connection.execute(
                    "with moved as (select * from public.task_instance where id = any ($1))"
                    " insert into bare.task_instance overriding system value select * from moved",
                    [task.id for task in found[side]],
                )
        self.engine.turn = await views.current_turn(db)
        await self._connection.execute("vacuum analyze")
        return found


@asynccontextmanager
async def arena(server_url: str, connections: int = 1) -> AsyncIterator[tuple[Arena, Database]]:
    """Open all sides of a comparison."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(fresh_database(server_url, "bench_verbs"))
        db = await stack.enter_async_context(opened(url, connections))
        connection = await stack.enter_async_context(bare_connection(url))
        await make_bare_tables(connection)
        triggerer, worker = await registered(db)
        pools = {
            side: await stack.enter_async_context(floor_pool(url, search_path, connections))
            for side, search_path in ((FLOOR, "public"), (BARE, "bare"))
        }
        floors = {side: Floor(pool, triggerer, worker) for side, pool in pools.items()}
        yield Arena(url, Engine(db, triggerer, worker), floors, connection), db


def floor_pool(url: str, search_path: str, connections: int) -> "asyncpg.Pool[asyncpg.Record]":
    """A pool that does nothing beside what it is told."""

    async def nothing(_connection: object) -> None:
        pass

    return asyncpg.create_pool(
        url,
        min_size=connections,
        max_size=connections,
        reset=nothing,
        server_settings={"search_path": search_path, "jit": "off"},
    )


def chunks(tasks: Sequence[Task], size: int) -> Iterator[Sequence[Task]]:
    """Cut tasks into batches."""
    for start in range(0, len(tasks), size):
        yield tasks[start : start + size]


async def live(
    arena: Arena, life: Sequence[str], tasks: dict[str, list[Task]], batch: int
) -> dict[tuple[str, str], float]:
    """Lead all tasks through a life, batch by batch and side by side, and add up the seconds of each verb."""
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    for verb in life:
        for turn, batches in enumerate(zip(*(chunks(tasks[side], batch) for side in arena.sides), strict=True)):
            sides = list(zip(arena.sides.items(), batches, strict=True))
            # Whoever goes first pays for what the others find warm, so they take turns.
            for (name, side), own in sides[turn % 3 :] + sides[: turn % 3]:
                say = getattr(side, verb)(own)
                began = perf_counter()
                await say()
                seconds[name, verb] += perf_counter() - began
    return seconds


async def measure(server_url: str, report: Report, quick: bool) -> None:
    """Measure every verb in every batch size, several rounds, and report the medians."""
    for batch, number in TASKS.items():
        number = min(number, 4 * batch) if quick else number
        async with arena(server_url) as (place, db):
            for life in LIVES:
                await live(place, life, await place.tasks(db, min(WARM_UP * batch, number)), batch)
            rounds = []
            for nth in range(1 if quick else ROUNDS):
                report.progress(f"batches of {batch}, round {nth + 1}")
                rounds.append(await one_round(place, db, batch, number))
        for verb in VERBS:
            engine, floor, bare = (median(r[side, verb] for r in rounds) for side in (ENGINE, FLOOR, BARE))
            report.add(verb=verb, batch=batch, engine=engine, floor=floor, bare=bare, ratio=engine / floor)


async def one_round(place: Arena, db: Database, batch: int, number: int) -> dict[tuple[str, str], float]:
    """Rows per second of each side and verb."""
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    rows: dict[str, int] = defaultdict(int)
    for life in LIVES:
        for key, value in (await live(place, life, await place.tasks(db, number), batch)).items():
            seconds[key] += value
        for verb in life:
            rows[verb] += number
    return {(side, verb): rows[verb] / value for (side, verb), value in seconds.items()}
