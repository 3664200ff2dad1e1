"""Whatever a DAG file does, only that file shows an error, and the others do not wait for it."""

import os
import signal
from ast import literal_eval
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from bide.children.warm import children_of
from bide.dagprocessor import parsers
from tests.dagprocessor.conftest import HEAD, Bed, dag_file
from tests.process.eventually import eventually

AtWork = Callable[..., AbstractAsyncContextManager[Any]]

WRITES = "import os\nfor n in range(3, 64):\n    try: os.write(n, {})\n    except OSError: pass"
# What stands in the file -> what its error says.
FAULTS = {
    "import sys; sys.exit(3)": "SystemExit: 3",
    "import os; os._exit(0)": "The file has ended its process with exit code 0 while it was imported",
    "import os; os._exit(7)": "exit code 7",
    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)": "ended by SIGSEGV",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "SIGKILL while it was imported; perhaps the machine",
    "import ctypes; ctypes.string_at(0)": "ended by SIGSEGV",
    "import os; os.abort()": "ended by SIGABRT",
    "import os; os.killpg(os.getpgrp(), 9)": "ended by SIGKILL",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "raise GeneratorExit('now')": "GeneratorExit: now",
    "def f(): f()\nf()": "RecursionError: maximum recursion depth",
    "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})": "Odd",
    "x = (": "SyntaxError: '(' was never closed",
    "def f():\nreturn 1": "IndentationError: expected an indented block",
    "import nothing_of_that_name": "ModuleNotFoundError: No module named 'nothing_of_that_name'",
    "x = [bytearray(2**20) for _ in range(10**6)]": "needs more than 192 MB of memory",
    "import os\nos.closerange(0, 4096)": "has closed descriptors that are not its own",
    WRITES.format("b'x' * 99"): "What is told of the file is not what a DAG is made of: It announces",
    WRITES.format("b'\\0\\0\\0\\1\\xff'"): "not what a DAG is made of: It is no message",
    "dag('a', {'b': ('c',), 'c': ('b',)})": "Tasks wait for one another in a circle: b >> c >> b",
    "dag('a', {'b': ('d',)})": "Task 'b': it waits for 'd', which is not in the DAG",
    "dag('x' * 300)": "has 300 bytes; 250 are the most",
    "dag('a', description='\\ud800')": "surrogates not allowed",
    "dag('a', description='x' * 70_000_000)": "cannot be told: A message of 70,",
    "dag('a', max_active_runs='many')": "Expected `int`, got `str` - at `$.plans[0].max_active_runs`",
    "dag('a', tags=[object()])": "cannot be told",
    "for n in range(10_001): dag(f'd{n}')": "The file has 10,001 DAGs; at most 10,000 are taken",
    "import os, sys\nprint('x' * 10**7); print('the last line', flush=True); sys.exit('why')": "SystemExit: why",
}
SLOW_FAULTS = {
    "while True: pass": "takes longer than 1.5 s, the most that dag_processor.file_timeout_sec allows",
    "import threading; threading.Event().wait()": "takes longer than 1.5 s",
    "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass": "takes longer than 1.5 s",
    "while True:\n    try:\n        while True: pass\n    except BaseException: pass": "takes longer than 1.5 s",
    "while True: print('x' * 10_000)": "takes longer than 1.5 s",
}


def is_alive(pid: int) -> bool:
    """Say whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_every_fault_is_told_and_stays_with_its_file(bed: Bed, at_work: AtWork) -> None:
    for number, fault in enumerate(FAULTS):
        bed.write(f"f{number}.py", f"{HEAD}{fault}\n")
    bed.write("good.py", dag_file("good"))
    async with at_work(file_memory_mb=192):
        await bed.fails(**{f"f{number}": said for number, said in enumerate(FAULTS.values())})
        assert await bed.dags() == {"good": 1}
    traces = dict(await bed.connection.fetch("select fileloc, traceback from import_error"))
    printed = traces[f"f{len(FAULTS) - 1}.py"]
    assert printed.endswith("It has printed:\n…the last line")
    assert len(printed) < 10_000
    recursion = traces[f"f{list(FAULTS).index('def f(): f()' + chr(10) + 'f()')}.py"]
    assert len(recursion) < 10_000


async def test_what_takes_too_long_is_stopped_and_holds_nobody_up(bed: Bed, at_work: AtWork) -> None:
    """There are more slow files than may be parsed at once, and they come first."""
    for number, fault in enumerate(SLOW_FAULTS):
        bed.write(f"f{number}.py", f"{HEAD}{fault}\n")
    async with at_work(file_timeout_sec=1.5, rescan_sec=3600):
        await eventually(lambda: bed.connection.fetchval("select count(*) from job"))
        bed.write("good.py", dag_file("good"))
        await bed.has(good=1)
        assert await bed.errors() == {}
        await bed.fails(**{f"f{number}": said for number, said in enumerate(SLOW_FAULTS.values())})
    traces = dict(await bed.connection.fetch("select fileloc, traceback from import_error"))
    # The file itself says where it was.
    assert f'File "{bed.folder}/f0.py", line 2 in <module>' in traces["f0.py"]
    assert "in wait" in traces["f1.py"]


async def test_who_kills_the_process_that_parses_is_found(bed: Bed, at_work: AtWork) -> None:
    kill = "import os, signal; os.kill(os.getppid(), signal.SIGKILL); signal.pause()"
    for number in range(6):
        bed.write(f"good{number}.py", dag_file(f"good{number}"))
    bed.write("bad.py", f"{HEAD}{kill}\n")
    bed.write("worse.py", f"{HEAD}{kill}\n")
    async with at_work():
        ends = "The file ends the process that it is parsed by; take that out."
        await bed.fails(bad=ends, worse=ends)
        await bed.has(**{f"good{number}": 1 for number in range(6)})


AMONG_MANY = {
    "import os; os._exit(7)": "exit code 7",
    "import os, signal; os.kill(os.getppid(), signal.SIGKILL); signal.pause()": "ends the process that it is parsed by",
    "while True: pass": "takes longer than 1.5 s",
    "raise ValueError('why')": "ValueError: why",
}
# What they leave behind in their process would be seen by those that come after them.
LEAVES = ("os.environ['LEFT'] = 'here'", "os.chdir('/')", "threading.Thread(target=signal.pause, daemon=True).start()")


async def test_among_very_many_files_every_fault_stays_with_its_file(bed: Bed, at_work: AtWork) -> None:
    sees = (
        "import os, signal, threading\nsaw = f\"{os.environ.get('LEFT')} {os.getcwd()} {threading.active_count()}\"\n"
    )
    names = [f"f{number}" for number in range(70)]
    faults = dict(zip(names[5:60:11], AMONG_MANY, strict=False))
    leaving = dict(zip(names[6:60:11], LEAVES, strict=False))
    for name in names:
        does = f"{leaving.get(name, '')}\n{faults.get(name, '')}"
        bed.write(f"{name}.py", f"{HEAD}{sees}dag({name!r}, description=saw)\n{does}\n")
    async with at_work(file_timeout_sec=1.5):
        await bed.has(**{name: 1 for name in names if name not in faults})
        await bed.fails(**{name: AMONG_MANY[fault] for name, fault in faults.items()})
    saw = await bed.connection.fetch("select distinct description from dag")
    assert [row["description"] for row in saw] == [f"None {os.getcwd()} 1"]


async def test_nothing_that_a_file_has_begun_is_left_over(bed: Bed, at_work: AtWork) -> None:
    note = bed.folder.parent / "pids"
    fork = f"import os, signal\nnote = open({str(note)!r}, 'a')\n"
    # One in its process group, and one that has left it, its session, and its parent.
    fork += "if os.fork() == 0:\n    note.write(f'{os.getpid()}\\n'); note.close(); signal.pause()\n"
    fork += "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
    fork += "        note.write(f'{os.getpid()}\\n'); note.close(); signal.pause()\n    os._exit(0)\n"
    fork += "os.wait()\nwhile len(open(note.name).readlines()) < 2: pass\n"
    bed.write("a.py", dag_file("a", more=fork))
    async with at_work():
        await bed.has(a=1)
        pids = [int(line) for line in note.read_text().splitlines()]
        assert len(pids) == 2
        await eventually(lambda: not any(is_alive(pid) for pid in pids))


async def test_a_file_that_forks_and_goes_on_in_both_is_told_once(bed: Bed, at_work: AtWork) -> None:
    bed.write("a.py", dag_file("a", more="import os\nos.fork()\n"))
    async with at_work():
        await bed.has(a=1)
    assert await bed.errors() == {}


async def test_everything_ends_with_the_processor(bed: Bed, at_work: AtWork) -> None:
    before = children_of(os.getpid())
    note = bed.folder.parent / "pid"
    bed.write("a.py", f"{HEAD}import os\nopen({str(note)!r}, 'w').write(str(os.getpid()))\nwhile True: pass\n")
    async with at_work():
        await eventually(lambda: note.exists() and note.read_text())
        pid = int(note.read_text())
        assert is_alive(pid)
    await eventually(lambda: not is_alive(pid))
    assert children_of(os.getpid()) == before


async def test_odd_things_in_the_folder_do_no_harm(bed: Bed, at_work: AtWork) -> None:
    bed.write("folder.py/inner.py", dag_file("inner"))
    bed.write("empty.py", "")
    bed.write("words.py", "# a dag of bide that is still to be written")
    bed.write("latin.py", HEAD.encode() + "dag('b')  # \xfc\n".encode("latin-1"))
    bed.write("cookie.py", b"# coding: latin-1\n" + HEAD.encode() + "dag('c', description='\xfc')\n".encode("latin-1"))
    bed.write("unknown.py", f"# coding: martian\n{HEAD}")
    bed.write("nul.py", f"{HEAD}dag('d')\0\n")
    bed.write("mark.py", b"\xef\xbb\xbf" + dag_file("mark").encode())
    bed.write("windows.py", dag_file("windows").replace("\n", "\r\n"))
    bed.write(os.fsdecode(b"bytes\xff.py"), dag_file("bytes"))
    os.mkfifo(bed.folder / "pipe.py")
    (bed.folder / "nowhere.py").symlink_to("nothing.py")
    (bed.folder / "loop").symlink_to(".")
    (bed.folder / "folder.py/up").symlink_to(bed.folder)
    (bed.folder / "self.py").symlink_to("self.py")
    async with at_work():
        await bed.fails(
            latin="latin.py:2: this is not UTF-8 text: byte ",
            unknown="unknown encoding: martian",
            nul="source code string cannot contain null bytes",
        )
        await bed.has(inner=1, c=1, mark=1, windows=1)
        assert '"\xfc"' in await bed.plan("c")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_what_may_not_be_read_is_told(bed: Bed, at_work: AtWork) -> None:
    bed.write("a.py", dag_file("a")).chmod(0)
    async with at_work():
        await bed.fails(a="a.py cannot be read: Permission denied.")


async def test_ten_thousand_tasks_are_taken(bed: Bed, at_work: AtWork) -> None:
    bed.write("a.py", f"{HEAD}dag('a', [f'task_{{n}}' for n in range(10_000)])\n")
    async with at_work():
        await bed.has(a=1)
    assert (await bed.plan("a")).count('"task_id"') == 10_000


async def test_a_file_may_change_its_process_as_it_likes(bed: Bed, at_work: AtWork) -> None:
    bed.write(
        "a.py",
        dag_file(
            "a",
            more="import os, sys, threading\nos.chdir('/')\nos.environ.clear()\nsys.path.clear()\n"
            "threading.Thread(target=threading.Event().wait).start()\n",
        ),
    )
    bed.write("b.py", f"{HEAD}import os\ndag('b', description=f'{{os.getcwd()}} {{len(os.environ) > 1}}')\n")
    async with at_work(parsing_processes=1):
        await bed.has(a=1, b=1)
        assert f'"description":"{os.getcwd()} True"' in await bed.plan("b")


async def test_a_frozen_process_that_parses_is_replaced(
    bed: Bed, at_work: AtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parsers, "TO_END_SEC", 0.5)
    note = bed.folder.parent / "pid"
    bed.write(
        "a.py",
        f"{HEAD}import os\nif not os.path.exists({str(note)!r}):\n"
        f"    open({str(note)!r}, 'w').write(str(os.getppid()))\n    while True: pass\ndag('a')\n",
    )
    async with at_work(file_timeout_sec=0.3):
        await eventually(lambda: note.exists() and note.read_text())
        parent = int(note.read_text())
        os.kill(parent, signal.SIGSTOP)
        await eventually(lambda: not is_alive(parent))
        bed.write("b.py", dag_file("b"))
        await bed.has(b=1)
        await bed.fails(a="takes longer than 0.3 s")


LOOK_AROUND = """
import os, resource
names = ("BIDE_DATABASE_URL", "BIDE_SECURITY__KEYS", "PGPASSWORD", "MY_DATABASE_URL", "DSN", "HARMLESS")
open_ones = []
for number in range(4096):
    try:
        open_ones.append(os.readlink(f"/proc/self/fd/{number}").partition(":")[0])
    except OSError:
        pass
core = resource.getrlimit(resource.RLIMIT_CORE)
dag('a', description=repr(([name for name in names if name in os.environ], open_ones, core)))
"""


async def test_a_child_is_given_no_secret_and_no_descriptor_that_is_not_its_own(
    bed: Bed, database: str, at_work: AtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BIDE_DATABASE_URL", "BIDE_SECURITY__KEYS", "PGPASSWORD", "MY_DATABASE_URL"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("DSN", f"the address is {database}!")
    monkeypatch.setenv("HARMLESS", "open")
    bed.write("a.py", HEAD + LOOK_AROUND)
    async with at_work():
        await bed.has(a=1)
    seen = await bed.connection.fetchval("select description from dag")
    assert literal_eval(seen) == (["HARMLESS"], ["/dev/null", "pipe", "pipe", "socket"], (0, 0))
