"""Eight schedulers and eight workers at once, each on connections of its own: no limit is exceeded, no room lost."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import asyncpg

from bide.model.plan import DagPlan
from bide.process.program import Stop, ground, keep
from bide.scheduler.service import SchedulerService
from bide.settings import Settings, declared
from bide.store import jobs, legs, views
from bide.store.database import Database, connected
from bide.store.legs import FailedLeg
from bide.store.rows import Leg
from bide.store.wake import Channel
from tests.process.eventually import eventually
from tests.scheduler.town import WHO, Town, dag, task
from tests.simulation.checker import check_history
from tests.system.limits import check_limits

SCHEDULERS = WORKERS = 8
POOLS = {"narrow": 3, "wide": 6, "default_pool": 12}
TIGHT: Mapping[tuple[str, ...], int] = {
    ("slots of pool", "narrow"): 3,
    ("slots of pool", "wide"): 6,
    ("active runs of", "wide"): 3,
    ("active runs of", "once"): 1,
    ("instances of task", "rows", "t1"): 2,
}
RUNS = 10
TASKS = 12
# What is in use at this moment, by another road than the engine's own count and than the history.
IN_USE = """
    with busy as (select * from task_instance where state = 'queued' or worker_id is not null)
    select 'slots of pool ' || pool as kind, sum(pool_slots) as number from busy group by pool
    union all select 'tasks in run ' || dag_run_id, count(*) from busy group by dag_run_id
    union all select 'instances of task ' || dag_id || ' ' || task_id, count(*) from busy group by dag_id, task_id
    union all select 'active runs of ' || dag_id, count(*) from dag_run where state = 'running' group by dag_id
"""


def plans() -> list[DagPlan]:
    """DAGs that compete for room in different ways."""
    wide = [task(f"t{n}", pool="wide", pool_slots=1 + n % 3) for n in range(TASKS)]
    narrow = [task(f"t{n}", pool="narrow", pool_slots=1 + n % 2) for n in range(TASKS)]
    rows = [task("a"), *(task(f"t{n}", "a", max_active_tis_per_dag=2) for n in range(TASKS)), task("z", "t0", "t1")]
    once = [task(f"t{n}", max_active_tis_per_dagrun=1, max_active_tis_per_dag=3) for n in range(TASKS)]
    return [
        dag("wide", *wide, max_active_runs=3),
        dag("narrow", *narrow, max_active_runs=2, max_active_tasks=2),
        dag("rows", *rows, max_active_runs=4, max_active_tasks=8),
        dag("once", *once, max_active_runs=1, max_active_tasks=5),
    ]


@asynccontextmanager
async def scheduler(url: str) -> AsyncIterator[None]:
    """One more scheduler, with a pool of its own."""
    settings = Settings(scheduler=declared.Scheduler(poll_sec=0.05, batch_size=7), database=declared.Database(url=url))
    stop = Stop()
    async with ground(settings, url, [Channel.SCHEDULER]) as place:
        task = asyncio.create_task(keep(place, SchedulerService(place), stop))
        try:
            yield
        finally:
            stop()
            await task


async def work(url: str, seed: int) -> None:
    """Be one more worker: some legs fail, some are handed back, most succeed."""
    rng = random.Random(seed)
    async with connected(url, pool_size=2) as db:
        me = await jobs.register(db, WHO, jobs.NewJob(job_type=jobs.JobType.WORKER, hostname="w", heartbeat_sec=3600))
        while True:
            offered = await views.offered(db, ["default"], rng.randint(1, 4))
            for one in await legs.start(db, WHO, me, offered):
                await end(db, rng, Leg(one.id, one.leg))
            await asyncio.sleep(rng.uniform(0, 0.02))


async def end(db: Database, rng: random.Random, leg: Leg) -> None:
    """End a leg by chance in one way or the other."""
    chance = rng.random()
    if chance < 0.1:
        await legs.fail(db, WHO, [FailedLeg(leg.id, leg.leg, "running", None, "by chance")])
    elif chance < 0.3:
        await legs.drain(db, WHO, [leg])
        await legs.stopped(db, WHO, [leg])
    else:
        await legs.succeed(db, WHO, [leg])


async def watch(url: str, most: Counter[str]) -> None:
    """Look again and again at what is in use."""
    connection = await asyncpg.connect(url)
    try:
        while True:
            for row in await connection.fetch(IN_USE):
                most[row["kind"]] = max(most[row["kind"]], row["number"])
            await asyncio.sleep(0.005)
    finally:
        connection.terminate()


async def test_eight_schedulers_and_eight_workers_exceed_no_limit_and_lose_no_room(town: Town, database: str) -> None:
    await town.connection.execute("update clock set frozen_at = null; delete from job")
    for name, slots in POOLS.items():
        await town.connection.execute(
            "insert into pool (name, slots) values ($1, $2) on conflict (name) do update set slots = $2", name, slots
        )
    for plan in plans():
        await town.store(plan)
        await town.launch(plan, *(f"run {n}" for n in range(RUNS)))
    seen: Counter[str] = Counter()
    async with AsyncExitStack() as stack:
        helpers = [asyncio.create_task(work(database, seed)) for seed in range(WORKERS)]
        helpers.append(asyncio.create_task(watch(database, seen)))
        for _ in range(SCHEDULERS):
            await stack.enter_async_context(scheduler(database))

        async def all_have_ended() -> bool:
            states = await town.connection.fetch("select distinct state from dag_run")
            return {row["state"] for row in states} <= {"success", "failed"}

        await eventually(all_have_ended, 60)
        for helper in helpers:
            helper.cancel()
        await asyncio.gather(*helpers, return_exceptions=True)
    told = await check_limits(town.connection)
    await check_history(town.connection)
    # They were tight enough to say something, by both counts.
    for kind, limit in TIGHT.items():
        assert told[kind] == limit, kind
        assert 0 < seen[" ".join(kind)] <= limit, kind
    assert {pool.name: pool.free for pool in await views.pool_room(town.db)} == POOLS
