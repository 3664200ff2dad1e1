"""Where sides meet: each with tasks of its own on one database, led through the same verbs, batch beside batch."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from statistics import median
from time import perf_counter

import asyncpg

from benchmarks.bed import Task, bare_connection, fresh_database, opened, registered, scheduled_tasks
from benchmarks.floor import Floor, make_bare_tables
from benchmarks.sides import Engine, Side
from bide.store import deferral, views
from bide.store.database import Database, session_settings

ENGINE, FLOOR, BARE = "engine", "floor", "bare tables"
# Two lives of a task between them use every verb; each is timed wherever it occurs.
LIVES = (
    ("enqueue", "start", "defer", "claim", "fire", "enqueue", "start", "succeed"),
    ("enqueue", "start", "defer", "claim", "end"),
)


class Arena:
    """One database, and the sides that work on it."""

    def __init__(self, url: str, db: Database, connection: asyncpg.Connection, sides: Mapping[str, Side]) -> None:
        self.url = url
        self.db = db
        self.connection = connection
        self.sides = sides
        self._runs = 0

    async def tasks(self, number: int) -> dict[str, list[Task]]:
        """Launch as many tasks for each side."""
        found = {}
        for side in self.sides:
            self._runs += 1
            found[side] = await scheduled_tasks(self.db, self.connection, f"run {self._runs}", number)
            for task, trigger_id in zip(found[side], await deferral.reserve_trigger_ids(self.db, number), strict=True):
                task.trigger_id = trigger_id
            if side == BARE:
                await self.connection.execute(
                    "with moved as (select * from public.task_instance where id = any ($1))"
                    " insert into bare.task_instance overriding system value select * from moved",
                    [task.id for task in found[side]],
                )
        turn = await views.current_turn(self.db)
        for engine in self.sides.values():
            if isinstance(engine, Engine):
                engine.turn = turn
        await self.connection.execute("vacuum")
        return found


@asynccontextmanager
async def arena(server_url: str, *sides: str, connections: int = 1) -> AsyncIterator[Arena]:
    """Open some sides on a database of their own, each with as many connections."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(fresh_database(server_url))
        db = await stack.enter_async_context(opened(url, connections))
        connection = await stack.enter_async_context(bare_connection(url))
        triggerer, worker = await registered(db)
        opened_sides: dict[str, Side] = {}
        for side in sides:
            if side == ENGINE:
                opened_sides[side] = Engine(db, triggerer, worker)
                continue
            if side == BARE:
                await make_bare_tables(connection)
            search_path = "bare" if side == BARE else "public"
            pool = await stack.enter_async_context(floor_pool(url, search_path, connections))
            opened_sides[side] = Floor(pool, triggerer, worker)
        yield Arena(url, db, connection, opened_sides)


def floor_pool(url: str, search_path: str, connections: int) -> "asyncpg.Pool[asyncpg.Record]":
    """A pool that does nothing beside what it is told, with the settings of the engine's sessions."""

    async def nothing(_connection: object) -> None:
        pass

    return asyncpg.create_pool(
        url,
        min_size=connections,
        max_size=connections,
        reset=nothing,
        server_settings={**session_settings(10), "search_path": search_path},
    )


def chunks(tasks: Sequence[Task], size: int) -> Iterator[Sequence[Task]]:
    """Cut tasks into batches."""
    for start in range(0, len(tasks), size):
        yield tasks[start : start + size]


async def live(
    sides: Mapping[str, Side], life: Sequence[str], tasks: Mapping[str, list[Task]], batch: int
) -> dict[tuple[str, str], list[float]]:
    """Lead all tasks through a life, batch by batch and side by side, and tell the seconds of every batch."""
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for verb in life:
        for turn, batches in enumerate(zip(*(chunks(tasks[side], batch) for side in sides), strict=True)):
            pairs = list(zip(sides.items(), batches, strict=True))
            # Whoever goes first pays for what the others find warm, so they take turns.
            first = turn % len(pairs)
            for (name, side), own in pairs[first:] + pairs[:first]:
                say = getattr(side, verb)(own)
                began = perf_counter()
                await say()
                seconds[name, verb].append(perf_counter() - began)
    return seconds


class Speeds:
    """The rows per second of each side and verb, in the middle one of all its batches.

    On a machine that others use too, the middle is what can be compared: a pause of theirs hits one batch of one side.
    """

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._seconds: dict[tuple[str, str], list[float]] = defaultdict(list)

    async def add_round(self, sides: Mapping[str, Side], tasks: Sequence[Mapping[str, list[Task]]]) -> None:
        """Lead tasks through every life."""
        for life, of_sides in zip(LIVES, tasks, strict=True):
            for key, seconds in (await live(sides, life, of_sides, self._batch)).items():
                self._seconds[key] += seconds

    def of(self, side: str, verb: str) -> float:
        """Tell how fast a side is at a verb."""
        return self._batch / median(self._seconds[side, verb])


async def together(side: Side, verb: str, tasks: Sequence[Task], connections: int, batch: int) -> float:
    """Say a verb about all tasks on several connections; tell how many seconds it took."""
    says = iter([getattr(side, verb)(some) for some in chunks(tasks, batch)])

    async def lane() -> None:
        for say in says:
            await say()

    began = perf_counter()
    await asyncio.gather(*(lane() for _ in range(connections)))
    return perf_counter() - began
