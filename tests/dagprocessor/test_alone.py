"""The processor as a process of its own: its children find no secret in it, and it ends when it is told to."""

import asyncio
import os
import signal
import sys
from ast import literal_eval
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

import pytest

from bide.children.warm import children_of
from bide.kernel import LINUX
from tests.dagprocessor.conftest import HEAD, Bed, dag_file
from tests.meta.tree import ROOT
from tests.process.eventually import eventually

SECRET = "name_of_a_session_that_nobody_else_has"
# Looks for the secret in the processor and in the process that parses, by all ways that the system knows. The pieces
# keep this file from holding what it looks for.
LOOK = f"""
import os, re
secret = b"{SECRET[:20]}" + b"{SECRET[20:]}"
parent = os.getppid()
grandparent = int(re.search(r"PPid:\\s(\\d+)", open(f"/proc/{{parent}}/status").read())[1])
found = []

def memory(pid):
    with open(f"/proc/{{pid}}/maps") as maps, open(f"/proc/{{pid}}/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(number, 16) for number in line.split()[0].split("-"))
            if line.split()[1].startswith("r") and "[v" not in line:
                memory.seek(start)
                try:
                    yield memory.read(end - start)
                except OSError:
                    pass

def file(pid, name):
    with open(f"/proc/{{pid}}/{{name}}", "rb") as opened:
        yield opened.read()

for pid, who in ((os.getpid(), "self"), (parent, "parent"), (grandparent, "grandparent")):
    for way, look in (("environ", file), ("cmdline", file), ("memory", lambda pid, _: memory(pid))):
        try:
            holds = any(secret in piece for piece in look(pid, way))
        except OSError as error:
            holds = type(error).__name__
        found.append((who, way, holds))
    try:
        found.append((who, "descriptors", bool(os.readlink(f"/proc/{{pid}}/fd/0"))))
    except OSError as error:
        found.append((who, "descriptors", type(error).__name__))
dag("a", description=repr(found))
"""


@asynccontextmanager
async def processor(bed: Bed, url: str) -> AsyncIterator[Process]:
    """Run a processor until the block ends."""
    parts = urlsplit(url)
    address = urlunsplit(parts._replace(query=f"application_name={SECRET}"))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.dagprocessor.alone", str(bed.folder)),
        env=os.environ | {"BIDE_DATABASE_URL": address, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@pytest.mark.skipif(not LINUX, reason="other systems have no /proc")
async def test_a_file_finds_no_secret_in_the_processes_above_it(bed: Bed, database: str) -> None:
    bed.write("a.py", HEAD + LOOK)
    async with processor(bed, database):
        await eventually(lambda: bed.connection.fetchval("select count(*) from dag"), within_sec=30)
        found = literal_eval(await bed.connection.fetchval("select description from dag"))
    # The process that parses may be looked into: it knows nothing.
    assert found == [
        ("self", "environ", False),
        ("self", "cmdline", False),
        ("self", "memory", True),
        ("self", "descriptors", True),
        ("parent", "environ", False),
        ("parent", "cmdline", False),
        ("parent", "memory", False),
        ("parent", "descriptors", True),
        ("grandparent", "environ", "PermissionError"),
        ("grandparent", "cmdline", False),
        ("grandparent", "memory", "PermissionError"),
        ("grandparent", "descriptors", "PermissionError"),
    ]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
async def test_it_ends_at_once_and_leaves_nobody_behind(bed: Bed, database: str, number: signal.Signals) -> None:
    note = bed.folder.parent / "pid"
    bed.write("good.py", dag_file("good"))
    bed.write("loop.py", f"{HEAD}import os\nopen({str(note)!r}, 'w').write(str(os.getppid()))\nwhile True: pass\n")
    async with processor(bed, database) as process:
        await eventually(lambda: note.exists() and note.read_text(), within_sec=30)
        await bed.has(good=1)
        parser = int(note.read_text())
        assert parser in children_of(process.pid)
        process.send_signal(number)
        assert await asyncio.wait_for(process.wait(), 10) == (0 if number != signal.SIGKILL else -signal.SIGKILL)
        await eventually(lambda: not os.path.exists(f"/proc/{parser}/fd"))
