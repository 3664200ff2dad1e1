"""A worker whose tasks do nothing: `python -m benchmarks.noop ADDRESS LEGS_PER_CHILD SLOTS`.

The same module tells the children what a file and a leg are, as `bide.children.code` does for real ones.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bide.children.port import FilePort, SocketPort
from bide.model.messages import RunLeg
from bide.model.outcome import Outcome, Succeeded
from bide.process import program
from bide.settings import Settings, declared
from bide.store.wake import Channel
from bide.worker.service import Worker

_ports: list[FilePort] = []


@contextmanager
def answering(port: FilePort) -> Iterator[None]:
    """Let this port answer what a file asks while it is imported."""
    _ports.append(port)
    yield
    _ports.pop()


def rehearse() -> None:
    """There is nothing to get used to."""


def load(path: str, root: str, source: str) -> Mapping[str, Any]:
    """Import a file: its source is executed, so that it costs what its imports cost."""
    exec(source, {})
    return {"bench": None}


def run_leg(order: RunLeg, dag: Any, port: SocketPort) -> Outcome:
    """Do nothing."""
    return Succeeded()


def main(url: str, legs_per_child: str, slots: str) -> None:
    """Be a worker until told to stop."""
    worker = replace(declared.Worker(), legs_per_child=int(legs_per_child), slots=int(slots), drain_sec=0.0)
    settings = Settings(
        database=replace(declared.Database(), url=url), worker=worker, core=declared.Core(dags_dir=Path.cwd())
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    program.run(settings, url, [Channel.WORKER], lambda place: [Worker(place, environ, "benchmarks.noop")])


if __name__ == "__main__":
    main(*sys.argv[1:])
