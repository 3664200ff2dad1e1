"""DAG files for tests without the authoring interface: a file is a module, and each of its functions is a task.

A function takes the order of its leg, or of a callback, and the port to its worker. It returns an outcome, or a value
for its XCom.
"""

import json
import linecache
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from bide.children.port import SocketPort
from bide.model.messages import RunCallback, RunLeg
from bide.model.outcome import Deferred, Failed, Outcome, Rescheduled, Skipped, Succeeded


def rehearse() -> None:
    """Nothing here is slow at first."""


def load(path: str, root: str, source: str) -> Mapping[str, Any]:
    """Run the file; all of it is one DAG."""
    module = ModuleType("dag_file")
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
