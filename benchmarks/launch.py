"""How long it takes until all task instances of new runs are in the database."""

from collections.abc import Awaitable, Callable
from itertools import count
from statistics import median
from time import perf_counter

from benchmarks.arena import BARE, ENGINE, FLOOR, Arena, arena
from benchmarks.bed import WHO
from benchmarks.floor import Floor
from benchmarks.report import Report, share
from bide.store import runs

TITLE = "Launch: seconds until new runs and all their task instances are committed"
WIDE = (1, 10_000)
NARROW = (1000, 10)
ROUNDS = 5
WITHIN_SEC = 1.0

FLOOR_LAUNCH = """
    with changed as (
        insert into dag_run (dag_id, run_id, queued_at) select 'bench', unnest($2::text[]), now()
        returning id, dag_id, run_id, state
    ), tasks as (
        insert into task_instance (dag_run_id, dag_id, run_id, task_id, operator)
        select c.id, c.dag_id, c.run_id, t.task_id, 'BenchOperator'
        from changed c cross join unnest($3::text[]) as t (task_id)
    )
    insert into history (at, verb, dag_run_id, to_state, who) select now(), 'launch', id, state, $1 from changed"""

Launch = Callable[[list[str], list[str]], Awaitable[object]]


async def measure(server_url: str, report: Report) -> None:
    """Launch one wide run, and many narrow ones, and report the medians."""
    shapes = ((1, share(WIDE[1], report.scale)), (share(NARROW[0], report.scale), NARROW[1]))
    async with arena(server_url, ENGINE, FLOOR, BARE) as place:
        for number, width in shapes:
            report.progress(f"runs: {number}, tasks in each: {width}")
            found = await seconds(launches(place), number, width, share(ROUNDS, report.scale))
            engine, floor, bare = (median(found[side]) for side in (ENGINE, FLOOR, BARE))
            report.add(
                runs=number,
                tasks_in_each=width,
                engine=engine,
                floor=floor,
                bare_tables=bare,
                ratio=floor / engine,
                tasks_per_second=number * width / engine,
                target=report.target("≤", WITHIN_SEC, engine),
            )


def launches(place: Arena) -> dict[str, Launch]:
    """Name the ways to launch."""

    async def engine(run_ids: list[str], task_ids: list[str]) -> None:
        new_runs = [runs.NewRun(run_id) for run_id in run_ids]
        tasks = [runs.NewTask(task_id=task_id, operator="BenchOperator") for task_id in task_ids]
        await runs.launch(place.db, WHO, "bench", None, "manual", None, new_runs, tasks)

    def floor(side: Floor) -> Launch:
        return lambda run_ids, task_ids: side.pool.fetch(FLOOR_LAUNCH, WHO, run_ids, task_ids)

    return {name: floor(side) if isinstance(side, Floor) else engine for name, side in place.sides.items()}


async def seconds(ways: dict[str, Launch], number: int, width: int, rounds: int) -> dict[str, list[float]]:
    """Launch new runs in turns, and tell how long each took; the first round is for plans and caches."""
    numbers = count()
    found: dict[str, list[float]] = {name: [] for name in ways}
    for nth in range(rounds + 1):
        for name, launch in ways.items():
            run_ids = [f"launch {width} {next(numbers)}" for _ in range(number)]
            task_ids = [f"task_{n}" for n in range(width)]
            began = perf_counter()
            await launch(run_ids, task_ids)
            if nth:
                found[name].append(perf_counter() - began)
    return found
