"""How long it takes until DAG files are plans: a thousand of them at once, and one that is saved, beside bare imports.

`python -m benchmarks.parsing` measures it alone; `python -m benchmarks.parsing serve FOLDER` is the service that is
measured, in a process of its own.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg
from rich.console import Console

from benchmarks.bed import bare_connection, fresh_database
from benchmarks.report import OUT, Report, machine, share
from benchmarks.system import cpu_sec, memory_mb, until
from bide import embedded
from bide.children.warm import children_of
from bide.dagprocessor.service import DagProcessor
from bide.process.program import run
from bide.settings import Settings
from bide.settings.declared import Core

TITLE = "DAG files that become plans"
FILES, SAVES, IDLE_SEC = 1000, 20, 10
DAG_FILE = """
from datetime import UTC, datetime, timedelta

from bide import DAG, task
from bide.operators.bash import BashOperator
from bide.operators.empty import EmptyOperator

with DAG("{dag_id}", schedule="@daily", start_date=datetime(2024, 1, 1, tzinfo=UTC), catchup=False, tags=["bench"],
         default_args={{"retries": 2, "retry_delay": timedelta(minutes=1)}}, description="{description}") as dag:
    start, end = EmptyOperator(task_id="start"), EmptyOperator(task_id="end")

    @task
    def extract(number):
        return number

    @task(retries=5)
    def load(values):
        print(values)

    extracted = [extract.override(task_id=f"extract_{{n}}")(n) for n in range(4)]
    done = load(extracted)
    steps = [BashOperator(task_id=f"step_{{n}}", bash_command="echo {{{{ ds }}}}") for n in range(3)]
    start >> extracted
    done >> steps >> end
"""
# Everything is imported already in the processes that parse, so here too before the clock starts.
BARE_IMPORTS = """
import gc, os, sys, time
from pathlib import Path
from bide.children import code

def load(file):
    exec(compile(file.read_text(), str(file), "exec"), {"__name__": file.stem, "__file__": str(file)})

def load_in_fork(file):
    if len(forked) >= at_once:
        forked.discard(os.wait()[0])
    pid = os.fork()
    if pid == 0:
        load(file)
        os._exit(0)
    forked.add(pid)

code.prepare()
gc.freeze()
at_once, forked = int(sys.argv[2]), set()
files = sorted(Path(sys.argv[1]).glob("*.py"))
began = time.perf_counter()
for file in files:
    load_in_fork(file) if at_once else load(file)
while forked:
    forked.discard(os.wait()[0])
print(time.perf_counter() - began)
"""


def write(folder: Path, number: int, description: str = "") -> None:
    """Save a DAG file."""
    file = folder / f"dag_{number}.py"
    file.write_text(DAG_FILE.format(dag_id=file.stem, description=description))


def bare_imports(folder: Path, forks_at_once: int = 0) -> float:
    """Import all files, in one process or each in a fork of it; return the seconds that took."""
    command = [sys.executable, "-c", BARE_IMPORTS, str(folder), str(forks_at_once)]
    return median(float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(3))


@asynccontextmanager
async def processor(folder: Path, url: str) -> AsyncIterator[Process]:
    """Run a DAG processor in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.parsing", "serve", str(folder)), env=os.environ | {"BIDE_DATABASE_URL": url}
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def measure(server_url: str, report: Report) -> None:
    """Measure what a person waits for."""
    number = max(SAVES, share(FILES, report.scale))
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as place:
        folder = Path(place)
        for one in range(number):
            write(folder, one)
        report.progress(f"bare imports of {number} files")
        floor = bare_imports(folder)
        cores = os.cpu_count() or 1
        add(
            report,
            f"{number} files: bare imports, each in a fork, {cores} at once, s",
            bare_imports(folder, cores),
            floor,
        )
        async with fresh_database(server_url) as url, bare_connection(url) as connection:
            await whole_folder(report, folder, url, connection, number, floor)
            await saved_files(report, folder, url, connection, number)


async def whole_folder(
    report: Report, folder: Path, url: str, connection: asyncpg.Connection, number: int, floor: float
) -> None:
    """Measure how long it takes until all files are stored, for the first time and after a restart."""
    for words in ("all files are new", "nothing has changed"):
        report.progress(f"{number} files: {words}")
        at = await connection.fetchval("select bide_now()")
        async with processor(folder, url):
            # From the first file on: what comes before is the start of Python, once.
            first = await until(connection, f"select count(*) > 0 from dag_file where parsed_at > '{at}'", True)
            rest = await until(connection, f"select count(*) from dag_file where parsed_at > '{at}'", number)
        add(report, f"{number} files, {words}: with the start of Python, s", first + rest, floor)
        add(report, f"{number} files, {words}: from the first stored one on, s", rest, floor, 3 * floor)


async def saved_files(report: Report, folder: Path, url: str, connection: asyncpg.Connection, number: int) -> None:
    """Measure how long it takes until a saved file is live, among many others; and what waiting for it costs."""
    report.progress("files that are saved")
    at = await connection.fetchval("select bide_now()")
    async with processor(folder, url) as process:
        await until(connection, f"select count(*) from dag_file where parsed_at > '{at}'", number)
        taken = []
        for save in range(SAVES):
            write(folder, save, description=f"saved {save}")
            live = f"select description = 'saved {save}' from dag where dag_id = 'dag_{save}'"
            taken.append(await until(connection, live, True))
        add(report, "saved file → new plan committed, median ms", 1000 * median(taken))
        add(report, "saved file → new plan committed, longest ms", 1000 * max(taken), most=1000)
        before = cpu_sec(process.pid)
        await asyncio.sleep(IDLE_SEC)
        add(report, "idle: processor time, % of a core", 100 * (cpu_sec(process.pid) - before) / IDLE_SEC)
        add(report, "idle: memory of the service, MB", memory_mb(process.pid))
        add(report, "idle: memory of the process that parses, MB", sum(map(memory_mb, children_of(process.pid))))


def add(report: Report, what: str, figure: float, floor: float | None = None, most: float | None = None) -> None:
    """Keep a figure beside its floor, and the most that is wanted of it."""
    ratio: Any = None if floor is None else figure / floor
    report.add(what=what, figure=figure, floor=floor, ratio=ratio, target=report.target("≤", most, figure))


async def alone(server_url: str) -> None:
    """Measure, and print what was found."""
    console = Console()
    async with bare_connection(server_url) as connection:
        here = machine(await connection.fetchval("show server_version"))
    report = Report("parsing", TITLE, 1.0, console, here)
    await measure(server_url, report)
    report.finish(OUT)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        settings = Settings(core=Core(dags_dir=Path(sys.argv[2])))
        run(settings, os.environ["BIDE_DATABASE_URL"], [], lambda place: [DagProcessor(place)])
    else:
        OUT.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="server-", dir=OUT) as at, embedded.running(Path(at)) as server:
            asyncio.run(alone(server.url))
