"""The services as people run them: `bide up` and the like, in processes of their own, on a database of their own."""

import asyncio
import os
import secrets
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from bide.children.warm import children_of

PROGRAM = (sys.executable, "-c", "from bide.cli.main import main; main()")
SOURCES = str(Path(__file__).parents[1])
UP = "Bide is up"
LEAVES_WITHIN_SEC = 60.0
WITHIN_SEC = 600.0
ASK_EVERY_SEC = 0.005


@asynccontextmanager
async def empty_database(server_url: str) -> AsyncIterator[str]:
    """Give the address of a new database with nothing in it; it is dropped at the end."""
    name = f"bench_{secrets.token_hex(6)}"
    admin = await asyncpg.connect(server_url)
    try:
        await admin.execute(f"create database {name}")
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        await admin.execute(f"drop database if exists {name} with (force)")
        await admin.close()


async def run_command(url: str, *words: str) -> None:
    """Run a command on a database to its end."""
    environ = os.environ | {"BIDE_DATABASE__URL": url}
    process = await asyncio.create_subprocess_exec(*PROGRAM, *words, env=environ, stdout=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0, f"bide {' '.join(words)} has failed"


@asynccontextmanager
async def up(folder: Path, url: str = "", **settings: object) -> AsyncIterator[Process]:
    """Run `bide up` in a folder, until it says that it is up; settings are given as `worker__slots=4`."""
    given = {f"BIDE_{name}".upper(): str(value) for name, value in settings.items()}
    given |= {"BIDE_DATABASE__URL": url} if url else {}
    # What tasks and triggers of benchmarks are made of.
    given |= {"PYTHONPATH": SOURCES}
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "up", cwd=folder, env=os.environ | given, stderr=PIPE, start_new_session=True
    )
    assert process.stderr is not None
    drain = None
    try:
        said = b""
        while UP.encode() not in said:
            line = await process.stderr.readline()
            said += line
            if not line:
                raise RuntimeError(f"`bide up` ended: {said.decode()}")
        drain = asyncio.create_task(process.stderr.read())
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(LEAVES_WITHIN_SEC):
            await process.wait()
        if drain is not None:
            await drain


async def until(connection: "asyncpg.Connection[asyncpg.Record]", query: str, wanted: object, *given: object) -> float:
    """Ask the database until it answers what is wanted; return the seconds that took."""
    began = perf_counter()
    async with asyncio.timeout(WITHIN_SEC):
        while True:
            if await connection.fetchval(query, *given) == wanted:
                return perf_counter() - began
            await asyncio.sleep(ASK_EVERY_SEC)


def family(pid: int) -> Iterator[int]:
    """Name a process and all that it has begun."""
    yield pid
    for child in children_of(pid):
        yield from family(child)


def memory_mb(pid: int) -> float:
    """Tell the memory of a process, its share of what others have too included; 0 of one that is gone."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


def cpu_sec(pid: int) -> float:
    """Tell the processor time that a process and its ended children have used; of one that is gone, nothing."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0
