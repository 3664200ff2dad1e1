"""P1 and P8 with everything at work: how many no-op tasks `bide up` runs a second, and how soon the first one begins.

The scheduler and the worker are those of `bide up`, the tasks are `@task` functions of a DAG file. The floor of P1 is a
fork and one byte through a pipe for each task, in a process that has imported as much, with no database; that of P8 as
many small commits as lie between a launch and the first line of a task's code, and a fork.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, time

import asyncpg
import msgspec

from benchmarks.bed import WHO, bare_connection, opened
from benchmarks.legs import forks_per_second
from benchmarks.report import OUT, Report, share
from benchmarks.system import empty_database, until, up
from bide.control import launching
from bide.store.database import Database
from bide.store.wake import Channel, Hints

TITLE = "P1, P8: tasks through `bide up`"
FORKED, SHARED = 1, 100
TASKS = {FORKED: 1000, SHARED: 1000}
PER_SECOND = {FORKED: 200, SHARED: 1500}
ROUNDS = 3
FIRSTS, COLD = 30, 5
FIRST_WITHIN_MS = 50
COMMITS = 5  # launch, begin, ready, enqueue, start
PAUSE_SEC = 0.2
SPARE_SEC = 3
"""After which there is a spare process again for a DAG that has not run yet."""
IMPORTED = "import bide.children.code; bide.children.code.prepare()"
DAG_FILE = """
import time
from bide import DAG, task

with DAG("{dag_id}", schedule=None, max_active_tasks=100_000, max_active_runs=100):
    @task
    def noop():
        return {returns}

    for number in range({number}):
        noop.override(task_id=f"noop_{{number}}")()
"""


@dataclass
class Town:
    """Services at work, and ways to speak to them."""

    url: str
    db: Database
    connection: "asyncpg.Connection[asyncpg.Record]"
    hints: Hints

    async def parsed(self, dag_ids: Sequence[str]) -> None:
        """Wait until DAGs are live."""
        live = "select count(*) from dag where dag_id = any ($1) and version_id is not null"
        await until(self.connection, live, len(dag_ids), dag_ids)

    async def run(self, dag_id: str) -> tuple[float, str]:
        """Launch a run, wait for its end; return how many seconds that took, and the run's name."""
        began = perf_counter()
        number, run_id = await self.launch(dag_id)
        await until(self.connection, "select state = 'success' from dag_run where id = $1", True, number)
        return perf_counter() - began, run_id

    async def launch(self, dag_id: str, conf: str | None = None) -> tuple[int, str]:
        """Launch a run; return its number and its name."""
        launched = await launching.launch(self.db, WHO, dag_id, conf=conf)
        assert launched is not None
        self.hints.hint(Channel.SCHEDULER)
        return launched.id, launched.run_id

    async def first_code(self, dag_id: str) -> float:
        """Launch a run and return the milliseconds until the code of its task was running."""
        began = time()
        _, run_id = await self.run(dag_id)
        value = await self.connection.fetchval(
            "select value from xcom where dag_id = $1 and run_id = $2 and key = 'return_value'", dag_id, run_id
        )
        return 1000 * (msgspec.json.decode(value, type=float) - began)


@asynccontextmanager
async def town(server_url: str, files: dict[str, tuple[int, str]], **settings: object) -> AsyncIterator[Town]:
    """Start everything with these DAGs: how many tasks each, and what they return."""
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        dags = Path(folder) / "dags"
        dags.mkdir()
        for dag_id, (number, returns) in files.items():
            (dags / f"{dag_id}.py").write_text(DAG_FILE.format(dag_id=dag_id, number=number, returns=returns))
        async with (
            empty_database(server_url) as url,
            up(Path(folder), url, **settings),
            opened(url, 2) as db,
            bare_connection(url) as connection,
        ):
            found = Town(url, db, connection, Hints(db))
            await found.parsed(list(files))
            yield found


async def measure(server_url: str, report: Report) -> None:
    """Measure how many go through, and how soon the first one begins."""
    OUT.mkdir(exist_ok=True)
    floor = forks_per_second(IMPORTED, share(500, report.scale))
    for legs_per_child, number in TASKS.items():
        report.progress(f"{number} tasks in one run, legs per child {legs_per_child}")
        tasks = share(number, report.scale)
        async with town(server_url, {"noop": (tasks, "None")}, worker__legs_per_child=legs_per_child) as place:
            await place.run("noop")
            seconds = [(await place.run("noop"))[0] for _ in range(share(ROUNDS, report.scale))]
        wanted = PER_SECOND[legs_per_child]
        words = "one fork per leg" if legs_per_child == FORKED else f"{legs_per_child} legs per child"
        rate = tasks / median(seconds)
        add(report, f"P1: tasks per second, {words}", rate, floor, rate / floor, report.target("≥", wanted, rate))
    await firsts(server_url, report, 1000 / floor)


async def firsts(server_url: str, report: Report, fork_ms: float) -> None:
    """Measure how long it takes from a launch to the first line of the task's code."""
    cold = [f"cold_{number}" for number in range(share(COLD, report.scale))]
    files = dict.fromkeys(("warm", *cold), (1, "time.time()"))
    report.progress("from a launch to the first line of code")
    async with town(server_url, files) as place:
        warm_ms, cold_ms = [], []
        await place.run("warm")
        for _ in range(share(FIRSTS, report.scale) + 1):
            await asyncio.sleep(PAUSE_SEC)
            warm_ms.append(await place.first_code("warm"))
        for dag_id in cold:
            await asyncio.sleep(SPARE_SEC)
            cold_ms.append(await place.first_code(dag_id))
        floor = COMMITS * await commit_ms(place.connection) + fork_ms
    for what, figure, most in (
        ("median", median(warm_ms), FIRST_WITHIN_MS),
        ("p95", quantiles(warm_ms, n=20)[-1], None),
        ("median for DAGs that have not run yet", median(cold_ms), None),
    ):
        target = report.target("≤", most, figure)
        add(report, f"P8: launch → first line of code, ms, {what}", figure, floor, floor / figure, target)


async def commit_ms(connection: "asyncpg.Connection[asyncpg.Record]") -> float:
    """Tell how long a small commit takes."""
    await connection.execute("create table small (text text)")
    taken = []
    for _ in range(100):
        began = perf_counter()
        await connection.execute("insert into small values ('x')")
        taken.append(perf_counter() - began)
    return 1000 * median(taken)


def add(report: Report, what: str, figure: float, floor: float, ratio: float, target: str = "") -> None:
    """Keep a figure beside its floor."""
    report.add(what=what, figure=figure, floor=floor, ratio=ratio, target=target)
