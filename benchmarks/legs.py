"""P1: how many legs one worker runs a second, from the queue to `success`: one fork for each, or shared children.

The tasks are queued beforehand, so what is measured is the worker, its children, and what both cost the database. The
floor is one fork and one byte through a pipe for each, in a process that has imported as much, with no database.
"""

import asyncio
import signal
import subprocess
import sys
import time
from contextlib import suppress

import asyncpg

from benchmarks.bed import WHO, bare_connection, fresh_database, opened
from benchmarks.report import Report
from bide.model.plan import DagPlan, TaskPlan, encode_plan
from bide.store import queueing, runs, views
from bide.store.database import Database
from bide.store.rows import Leg
from bide.store.wake import Channel, Hints

TITLE = "P1: no-op legs through one worker, per second"
FORKED, SHARED = 1, 100
TASKS = {FORKED: 1000, SHARED: 4000}
SLOTS = 8
ROUNDS = 3
BATCH = 500
# What a DAG file usually has imported by the time it runs.
SOURCES = {"nothing": "", "some libraries": "import asyncio, email, http.client, jinja2, logging, pendulum, ssl"}
FLOOR = """
import gc, os, time
import bide.children.warm
{source}
gc.collect(); gc.freeze()
began = time.perf_counter()
for _ in range({number}):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writing, b"x")
        os._exit(0)
    os.read(reading, 1)
    os.waitpid(pid, 0)
    os.close(reading), os.close(writing)
print({number} / (time.perf_counter() - began))
"""


async def measure(server_url: str, report: Report) -> None:
    """Measure both ways of having children, with few and with some imports."""
    for imports, source in SOURCES.items():
        floor = forks_per_second(source, max(50, int(500 * report.scale)))
        for legs_per_child, number in TASKS.items():
            report.progress(f"{legs_per_child} legs per child, imported: {imports}")
            async with fresh_database(server_url) as url:
                rates = await legs_per_second(url, source, legs_per_child, max(50, int(number * report.scale)))
            best = max(rates)
            report.add(
                imported=imports,
                legs_per_child=legs_per_child,
                best=best,
                worst=min(rates),
                forks=floor,
                ratio=best / floor,
            )


def forks_per_second(source: str, number: int) -> float:
    """Measure the floor in a process of its own."""
    program = FLOOR.format(source=source, number=number)
    return float(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)


async def legs_per_second(url: str, source: str, legs_per_child: int, number: int) -> list[float]:
    """Let a worker run several rounds of tasks; the first one only warms everything up."""
    command = [sys.executable, "-m", "benchmarks.noop", url, str(legs_per_child), str(SLOTS)]
    worker = await asyncio.create_subprocess_exec(*command)
    try:
        async with opened(url, 4) as db, bare_connection(url) as connection:
            rates = [
                await one_round(db, connection, source, nth, 50 if nth == 0 else number) for nth in range(ROUNDS + 1)
            ]
    finally:
        worker.send_signal(signal.SIGTERM)
        await worker.wait()
    return rates[1:]


async def one_round(
    db: Database, connection: "asyncpg.Connection[asyncpg.Record]", source: str, nth: int, number: int
) -> float:
    """Queue so many tasks at once, and time how long it takes until all of them are done."""
    version = await versioned(connection, source)
    tasks = [runs.NewTask(task_id=f"task_{task}") for task in range(number)]
    launched = await runs.launch(db, WHO, "bench", version, "manual", None, [runs.NewRun(f"run {nth}")], tasks)
    run = launched[0].id
    await runs.begin(db, WHO, await views.current_turn(db), [run])
    ids = [row["id"] for row in await connection.fetch("select id from task_instance where dag_run_id = $1", run)]
    ready = await runs.ready(db, WHO, [runs.Unstarted(task_id, 0) for task_id in ids])
    began = time.perf_counter()
    for at in range(0, number, BATCH):
        legs = [Leg(row.id, row.leg) for row in ready[at : at + BATCH]]
        await queueing.enqueue(db, WHO, await views.current_turn(db), legs)
    hints = Hints(db)
    hints.hint(Channel.WORKER)
    await hints.flushed()
    await asyncio.wait_for(all_done(connection, run), 600)
    taken = time.perf_counter() - began
    ends = await connection.fetch("select state, count(*) from task_instance where dag_run_id = $1 group by state", run)
    if dict(ends) != {"success": number}:
        raise RuntimeError(f"{number} tasks ended otherwise: {ends}")
    return number / taken


async def all_done(connection: "asyncpg.Connection[asyncpg.Record]", run: int) -> None:
    """Look every few milliseconds whether anything of a run is left to do."""
    left = "select exists (select from task_instance where dag_run_id = $1 and state in ('queued', 'running'))"
    ticks = asyncio.Event()
    while await connection.fetchval(left, run):
        with suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await ticks.wait()


async def versioned(connection: "asyncpg.Connection[asyncpg.Record]", source: str) -> int:
    """Make the version of the DAG that all rounds share, and give its number."""
    plan = encode_plan(DagPlan(dag_id="bench", tasks=(TaskPlan(task_id="task", operator="Noop"),))).decode()
    number: int = await connection.fetchval(
        "insert into dag_version (dag_id, number, plan, source, fileloc, created_at)"
        " values ('bench', 1, $1, $2, 'bench.py', now())"
        " on conflict (dag_id, number) do update set source = excluded.source returning id",
        plan,
        source,
    )
    return number
