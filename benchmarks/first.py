"""P17: `bide up` in an empty folder until its first DAG has succeeded, what everything idle costs, what is installed.

The floor of the first is what is not Bide's: a new database folder by PostgreSQL itself, and the start of a Python for
each process of Bide's that has to be there.
"""

import asyncio
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from statistics import median
from time import perf_counter

import asyncpg

from benchmarks.bed import bare_connection
from benchmarks.report import OUT, Report, share
from benchmarks.system import cpu_sec, family, memory_mb, until, up
from bide import embedded
from bide.embedded import SETTINGS

TITLE = "P17: from nothing to the first success, and what everything idle costs"
ROUNDS = 3
WITHIN_SEC, MOST_MB, MOST_INSTALLED_MB = 5, 250, 120
MOST_QUERIES = 10
SETTLE_SEC, IDLE_SEC = 12, 20
LARGEST = 6
PROCESSES = 3  # the services, what parses, what runs the DAG
KINDS = {"bide.children.parser": "what parses files", "bide.children.warm": "what runs tasks", "up": "the services"}
FIRST = "select exists (select from dag_run where state = 'success')"


async def measure(_server_url: str, report: Report) -> None:
    """Start everything in an empty folder, several times; look at the last one while it idles."""
    OUT.mkdir(exist_ok=True)
    floor = median(bare_start() for _ in range(share(ROUNDS, report.scale)))
    seconds = []
    for nth in reversed(range(share(ROUNDS, report.scale))):
        report.progress("bide up in an empty folder")
        with tempfile.TemporaryDirectory(dir=OUT) as folder:
            began = perf_counter()
            async with up(Path(folder)) as process:
                await first_success(Path(folder))
                seconds.append(perf_counter() - began)
                idle = None if nth else await idling(Path(folder), process.pid, report.scale)
    add(report, "empty folder → first DAG has succeeded, s", median(seconds), WITHIN_SEC, floor)
    assert idle is not None
    for what, figure, most in idle:
        add(report, what, figure, most)
    sizes = sorted(installed(), key=lambda item: -item[1])
    add(report, "installed, MB", sum(size for _, size in sizes), MOST_INSTALLED_MB)
    for name, size in sizes[:LARGEST]:
        add(report, f"  of that: {name}", size)


def add(report: Report, what: str, figure: float, most: float | None = None, floor: float | None = None) -> None:
    """Keep a figure beside the most that is wanted of it."""
    ratio = None if floor is None else floor / figure
    report.add(what=what, figure=figure, floor=floor, ratio=ratio, target=report.target("≤", most, figure))


def bare_start() -> float:
    """Tell how many seconds PostgreSQL takes to make its folder and to start, and that many Pythons after it."""
    began = perf_counter()
    with tempfile.TemporaryDirectory(dir=OUT) as folder, embedded.running(Path(folder), settings=SETTINGS):
        for _ in range(PROCESSES):
            subprocess.run([sys.executable, "-c", "pass"], check=True)
        return perf_counter() - began


async def first_success(folder: Path) -> None:
    """Wait until the DAG that a newcomer finds has run."""
    server = embedded.found(folder / ".bide" / "postgres")
    assert server is not None, "no server"
    async with bare_connection(server.url) as connection:
        await until(connection, FIRST, True)


async def idling(folder: Path, pid: int, scale: float) -> list[tuple[str, float, float | None]]:
    """Leave everything alone for a while, and tell what it uses meanwhile."""
    server = embedded.found(folder / ".bide" / "postgres")
    assert server is not None, "no server"
    async with bare_connection(server.url) as connection:
        await asyncio.sleep(SETTLE_SEC * scale)
        cpu, statements = sum(map(cpu_sec, family(pid))), await transactions(connection)
        seconds = max(2, IDLE_SEC * scale)
        await asyncio.sleep(seconds)
        cpu, statements = sum(map(cpu_sec, family(pid))) - cpu, await transactions(connection) - statements
    by_kind: dict[str, float] = {}
    for one in family(pid):
        kind = kind_of(one)
        by_kind[kind] = by_kind.get(kind, 0.0) + memory_mb(one)
    return [
        ("memory of everything idle (PSS), MB", sum(by_kind.values()), MOST_MB),
        *((f"  of that: {kind}", size, None) for kind, size in sorted(by_kind.items(), key=lambda item: -item[1])),
        ("idle: statements per second", statements / seconds, MOST_QUERIES),
        ("idle: processor time of everything, % of a core", 100 * cpu / seconds, None),
    ]


async def transactions(connection: "asyncpg.Connection[asyncpg.Record]") -> int:
    """Count the statements that services have said so far, each a transaction of its own."""
    # A session tells of its own ones a second after them.
    await asyncio.sleep(1.5)
    count: int = await connection.fetchval(
        "select xact_commit from pg_stat_database where datname = current_database()"
    )
    return count


def kind_of(pid: int) -> str:
    """Name what a process is for."""
    with suppress(OSError):
        command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        for word, kind in KINDS.items():
            if word in command:
                return kind
    return "PostgreSQL"


def installed() -> Iterator[tuple[str, float]]:
    """Name every distribution that is installed with Bide, and the megabytes of its files."""
    seen, wanted = set[str](), ["bide"]
    while wanted:
        name = re.sub(r"[-_.]+", "-", wanted.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            # For another system or another Python.
            continue
        yield name, megabytes(found)
        wanted += [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in found.requires or () if "extra ==" not in text]


def megabytes(found: Distribution) -> float:
    """Add up the files of a distribution; of one that is being worked on, those of its sources."""
    files = [Path(str(found.locate_file(file))) for file in found.files or ()]
    if found.metadata["name"] == "bide":
        files += Path(embedded.__file__).parents[1].rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file()) / 2**20
