"""A process that is ready to parse DAG files: everything that they need is imported, and its forks run them.

    python -m bide.children.parser DESCRIPTOR [MODULE]

A fork costs milliseconds where a new interpreter costs tenths of a second, and whatever a file does to its process is
gone with it. What ends, kills and cleans up after the children is the same as in a warm process of a worker.
"""

import contextlib
import faulthandler
import gc
import importlib.util
import os
import resource
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from bide import kernel
from bide.children import child
from bide.children.channel import Channel
from bide.children.port import FilePort
from bide.children.reading import Reading
from bide.children.warm import Warm, prepare_output
from bide.errors import BideError
from bide.model.framing import FrameError
from bide.model.messages import EXIT_CUT_OFF, Broken, Fork, Parsed, ToParser, ToWarm
from bide.model.plan import DagPlan

MOST_DAGS = 10_000
"""DAGs of one file."""


class Parser(Warm):
    """Forks a child for one file, or for several."""

    def __init__(self, channel: Channel, code: Any) -> None:
        super().__init__(channel, {}, code.run_leg)
        self._code = code

    def live(self, order: Fork, sock: socket.socket, log: int) -> NoReturn:
        """Be a child: parse files, tell what is in them, and end."""
        try:
            child.separate(log, self._pid, order.memory_mb)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # Whoever stops a file that takes too long asks first where it is.
            faulthandler.register(signal.SIGTERM, all_threads=True, chain=False)
            answer(Channel(sock, ToParser), self._code)
            os._exit(0)
        except BaseException:
            with contextlib.suppress(BaseException):
                traceback.print_exc()
            os._exit(EXIT_CUT_OFF)


def answer(channel: Channel, code: Any) -> None:
    """Parse the files that are asked for, and answer for each."""
    order, me = channel.receive(), os.getpid()
    if order is None:
        return
    # Where their imports start from stands first, and is put there by each of them again.
    sys.path.insert(0, order.root)
    untouched, port = child.surroundings(), FilePort(channel)
    for path in order.paths:
        with code.answering(port):
            parsed = parse(path, order.root, code)
        if os.getpid() != me:
            # The file has forked, and its copy of the process came all the way back here.
            os._exit(0)
        child.flush()
        try:
            channel.send(parsed)
        except (FrameError, TypeError, ValueError, RecursionError) as error:
            channel.send(Parsed(broken=Broken(f"What was found in the file cannot be told: {error}")))
            return
        if parsed.broken is not None or child.surroundings() != untouched:
            return


def parse(path: str, root: str, code: Any) -> Parsed:
    """Import a file and make the plans of its DAGs; whatever goes wrong is an answer too."""
    try:
        source = read(path)
    except (OSError, SyntaxError, UnicodeError) as error:
        return Parsed(broken=Broken(unreadable(path, error)))
    reading = Reading(root)
    reading.start()
    try:
        collected = code.collect(path, root, source)
        plans, broken = plans_of(collected.dags, code)
    except BaseException as error:
        read_too = reading.stop() - {path} | set(getattr(error, "modules", ()))
        if isinstance(error, ImportError) or isinstance(error.__cause__ or error.__context__, ImportError):
            # What is missing may turn up.
            read_too |= reading.searched
        return Parsed(broken=told(error), modules=tuple(sorted(read_too)), source=source)
    modules = reading.stop() | set(collected.modules)
    return Parsed(plans, broken, tuple(sorted(modules - {path})), source)


def plans_of(dags: Mapping[str, Any], code: Any) -> tuple[tuple[DagPlan, ...], Broken | None]:
    """Make the plan of each DAG. One that is refused does not stand in the way of the others."""
    if len(dags) > MOST_DAGS:
        return (), Broken(
            f"The file has {len(dags):,} DAGs; at most {MOST_DAGS:,} are taken. Spread them over several."
        )
    plans, refused = [], []
    for dag_id, dag in dags.items():
        try:
            plans.append(code.to_plan(dag))
        except BideError as error:
            refused.append(f"DAG {dag_id!r}: {error}")
        except Exception as error:
            refused.append(f"DAG {dag_id!r}: {child.in_words(error)}")
    return tuple(plans), Broken("\n".join(refused)) if refused else None


def read(path: str) -> str:
    """Read a file as Python would: by its encoding, with any ends of lines."""
    return importlib.util.decode_source(Path(path).read_bytes())


def unreadable(path: str, error: Exception) -> str:
    """Say why a file cannot be read as text."""
    if isinstance(error, UnicodeDecodeError):
        line = error.object.count(b"\n", 0, error.start) + 1
        return (
            f"{path}:{line}: this is not {error.encoding.upper()} text: byte {error.start + 1} of the file is wrong. "
            "Save it as UTF-8, or name its encoding in the first line."
        )
    if isinstance(error, OSError):
        return f"{path} cannot be read: {error.strerror}."
    return f"{path}: {error}."


def told(error: BaseException) -> Broken:
    """Say what an import has raised. What can be mended is a sentence already."""
    if isinstance(error, BideError):
        return Broken(str(error), str(getattr(error, "traceback", "")))
    if isinstance(error, MemoryError):
        # To tell more would take memory.
        limit = resource.getrlimit(resource.RLIMIT_DATA)[0] // 2**20
        return Broken(
            f"The file needs more than {limit:,} MB of memory, the most that dag_processor.file_memory_mb allows."
        )
    try:
        return Broken(child.in_words(error), "".join(traceback.format_exception(error)))
    except BaseException:
        return Broken(type(error).__name__)


def main(descriptor: int, module: str) -> None:
    """Be the process from its start to its end."""
    kernel.drop_capabilities()
    faulthandler.enable()
    prepare_output()
    # Nothing is written into the folder of somebody's DAG files, and no module of the same second is taken for another.
    sys.dont_write_bytecode = True
    channel = Channel(socket.socket(fileno=descriptor), ToWarm)
    os.register_at_fork(after_in_child=channel.close)
    code = import_module(module)
    code.prepare()
    kernel.adopt_orphans()
    parser = Parser(channel, code)
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        parser.serve()
    finally:
        parser.leave()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
    os._exit(0)
