"""DAG files for tests without the authoring interface: a file is a module, and each of its functions is a task.

A function takes the order of its leg, or of a callback, and the port to its worker. It returns an outcome, or a value
for its XCom.
"""

import json
import linecache
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from bide.children.port import FilePort, SocketPort
from bide.model.messages import RunCallback, RunLeg
from bide.model.outcome import Deferred, Failed, Outcome, Rescheduled, Skipped, Succeeded

_ports: list[FilePort] = []


@contextmanager
def answering(port: FilePort) -> Iterator[None]:
    """Let this port answer what a file asks while it is imported."""
    _ports.append(port)
    yield
    _ports.pop()


def rehearse() -> None:
    """Nothing here is slow at first."""


def load(path: str, root: str, source: str) -> Mapping[str, Any]:
    """Run the file; all of it is one DAG."""
    module = ModuleType("dag_file")
    vars(module)["port"] = _ports[-1]
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    exec(compile(source, path, "exec"), module.__dict__)
    return {"dag": module}


def run_leg(order: RunLeg | RunCallback, dag: Any, port: SocketPort) -> Outcome:
    """Call the function of the task, or that in which it goes on, or one such as `on_failure`."""
    name = f"on_{order.kind}" if isinstance(order, RunCallback) else order.next_method or order.task_id
    result = getattr(dag, name)(order, port)
    if isinstance(result, Succeeded | Failed | Skipped | Deferred | Rescheduled):
        return result
    return Succeeded({} if result is None else {"return_value": json.dumps(result)})
