"""P12: timers that fall due a thousand a second, beside none and beside a million that wait for later dates.

A scheduler as people run it fires them. How late each one was is told from the history: the date that it waited for,
and the moment at which it was fired. The floor is what finds those that are due: one look at the index.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from time import perf_counter

import asyncpg

from benchmarks.bed import KWARGS, bare_connection
from benchmarks.report import Report, share
from benchmarks.system import PROGRAM, cpu_sec, empty_database, run_command, until
from bide.model.plan import DagPlan, TaskPlan, encode_plan

TITLE = "P12: timers, 1000 due each second: how late they are, beside none and a million others that wait"
CROWDS = (0, 1_000_000)
IN_A_RUN = 1000
EACH_SECOND = 1000
SECONDS = 20
TASKS = 10
"""Of each run: a thousand runs with ten tasks each."""
HEAD_START = timedelta(seconds=8)
IDLE_SEC = 5.0
LATE_MS = 250.0
LOOKS = 200

RUN = """
    insert into dag_run (dag_id, run_id, dag_version_id, state, queued_at, start_date)
    values ('bench', $1, $2, 'running', now(), now()) returning id"""
# Each task waits for its own timer, the first one for $3 and each next one a little later.
WAITING = """
    with waits as (
        insert into trigger (classpath, kwargs, created_date, due_at, ends)
        select 'bench.triggers.BenchTrigger', $2, now(), $3::timestamptz + n * $4::interval, true
        from generate_series(0, $5::integer - 1) as n returning id
    )
    insert into task_instance (
        dag_run_id, dag_id, run_id, task_id, state, leg, try_number, trigger_id, next_method, next_kwargs,
        start_date, is_leaf)
    select r.id, r.dag_id, r.run_id, 'task_' || row_number() over (order by w.id) - 1, 'deferred', 1, 1, w.id, 'resume',
           '{}', now(), true
    from waits w join dag_run r on r.id = $1"""
DATES = "select id, due_at from trigger where due_at < $1"
FIRED = "select trigger_id, at from history where verb = 'fire_due'"
FLOOR = "select id from trigger where due_at <= now() order by due_at, id limit 500"


async def measure(server_url: str, report: Report) -> None:
    """Measure with every crowd, each on a database of its own."""
    for full in report.each(CROWDS):
        crowd = share(full, report.scale, of=IN_A_RUN) if full else 0
        async with empty_database(server_url) as url, bare_connection(url) as connection:
            await run_command(url, "db", "migrate")
            version = await stored(connection)
            report.progress(f"{crowd:,} timers are being made")
            await gather(connection, crowd)
            floor_ms = await look_ms(connection)
            async with scheduler(url) as process:
                idle = await idle_percent(process.pid)
                report.progress(f"{EACH_SECOND} fall due each second")
                number = share(EACH_SECOND * SECONDS, report.scale, of=TASKS)
                late_ms, busy = await fall_due(connection, process.pid, version, number)
        p99 = late_ms[int(0.99 * (len(late_ms) - 1))]
        report.add(
            others_that_wait=crowd,
            fired=len(late_ms),
            median_ms_late=late_ms[len(late_ms) // 2],
            p99_ms_late=p99,
            longest_ms_late=late_ms[-1],
            target=report.target("≤", LATE_MS, p99),
            look_for_due_ones_floor_ms=floor_ms,
            scheduler_cpu_percent=busy,
            idle_cpu_percent=idle,
        )


async def stored(connection: "asyncpg.Connection[asyncpg.Record]") -> int:
    """Store the DAG whose tasks wait."""
    tasks = tuple(TaskPlan(task_id=f"task_{nth}", operator="Wait") for nth in range(TASKS))
    plan = encode_plan(DagPlan(dag_id="bench", tasks=tasks, max_active_tasks=1_000_000)).decode()
    await connection.execute("insert into dag (dag_id, max_active_tasks) values ('bench', 1000000)")
    number: int = await connection.fetchval(
        "insert into dag_version (dag_id, number, plan, created_at) values ('bench', 1, $1, now()) returning id", plan
    )
    await connection.execute("update dag set version_id = $1, max_active_runs = 1000000", number)
    return number


async def gather(connection: "asyncpg.Connection[asyncpg.Record]", crowd: int) -> None:
    """Make timers that are due tomorrow and later."""
    for nth in range(crowd // IN_A_RUN):
        run = await connection.fetchval(RUN, f"crowd {nth}", None)
        tomorrow = datetime.now().astimezone() + timedelta(days=1)
        await connection.execute(WAITING, run, KWARGS, tomorrow, timedelta(seconds=1), IN_A_RUN)
    await connection.execute("vacuum analyze")


async def look_ms(connection: "asyncpg.Connection[asyncpg.Record]") -> float:
    """Tell what one look at the index takes."""
    look = await connection.prepare(FLOOR)
    began = perf_counter()
    for _ in range(LOOKS):
        await look.fetch()
    return 1000 * (perf_counter() - began) / LOOKS


@asynccontextmanager
async def scheduler(url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `bide scheduler`."""
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "scheduler", env=os.environ | {"BIDE_DATABASE__URL": url}, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        await process.wait()


async def idle_percent(pid: int) -> float:
    """Tell what a scheduler takes of a core while nothing is due."""
    await asyncio.sleep(IDLE_SEC / 2)
    before = cpu_sec(pid)
    await asyncio.sleep(IDLE_SEC)
    return 100 * (cpu_sec(pid) - before) / IDLE_SEC


async def fall_due(
    connection: "asyncpg.Connection[asyncpg.Record]", pid: int, version: int, number: int
) -> tuple[list[float], float]:
    """Let timers fall due one after the other; tell how late each one was, and what the scheduler took of a core."""
    pause = timedelta(seconds=1) / EACH_SECOND
    first = await connection.fetchval("select bide_now()") + HEAD_START
    for nth in range(number // TASKS):
        run = await connection.fetchval(RUN, f"due {nth}", version)
        await connection.execute(WAITING, run, KWARGS, first + nth * TASKS * pause, pause, TASKS)
    last = first + number * pause
    dates = {row["id"]: row["due_at"] for row in await connection.fetch(DATES, last)}
    await asyncio.sleep((first - await connection.fetchval("select bide_now()")).total_seconds())
    before, began = cpu_sec(pid), perf_counter()
    await until(connection, "select exists (select from trigger where due_at < $1)", False, last)
    busy = 100 * (cpu_sec(pid) - before) / (perf_counter() - began)
    fired = {row["trigger_id"]: row["at"] for row in await connection.fetch(FIRED)}
    late = sorted(1000 * (fired[id] - date).total_seconds() for id, date in dates.items())
    assert late[0] >= 0, "a timer was fired before its date"
    return late, busy
