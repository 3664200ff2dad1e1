"""A language for DAG files that is just large enough to try the processor: a DAG is an id and the ids of its tasks.

It is named to the parsing children in the place of `bide.children.code`.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bide.children.port import FilePort
from bide.model.messages import RunLeg
from bide.model.outcome import Outcome, Skipped
from bide.model.plan import DagPlan, TaskPlan


@dataclass
class Dag:
    """A DAG: pairs of a task and its upstream tasks, and what else its plan shall have."""

    dag_id: str
    tasks: dict[str, tuple[str, ...]]
    settings: dict[str, Any]


@dataclass
class Collected:
    """What was found in a file."""

    dags: dict[str, Dag]
    modules: tuple[str, ...]


_found: list[Dag] = []


def dag(dag_id: str, tasks: Iterable[str] | dict[str, tuple[str, ...]] = ("one",), **settings: Any) -> Dag:
    """Say that there is a DAG."""
    named: dict[str, tuple[str, ...]] = tasks if isinstance(tasks, dict) else dict.fromkeys(tasks, ())
    _found.append(Dag(dag_id, named, settings))
    return _found[-1]


_ports: list[FilePort] = []


@contextmanager
def answering(port: FilePort) -> Iterator[None]:
    """Let this port answer what a file asks while it is imported."""
    _ports.append(port)
    yield
    _ports.pop()


def prepare() -> None:
    """Everything is imported already."""


def collect(path: str, root: str, source: str) -> Collected:
    """Run a DAG file."""
    _found.clear()
    if root not in sys.path:
        sys.path.insert(0, root)
    exec(compile(source, path, "exec"), {"__name__": "dag_file", "__file__": path, "port": _ports[-1]})
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return Collected(
        {found.dag_id: found for found in _found},
        tuple(file for file in files if file and Path(root) in Path(file).parents),
    )


def to_plan(found: Dag) -> DagPlan:
    """Make the plan of a DAG."""
    tasks = [TaskPlan(task_id=task_id, operator="Op", upstream=after) for task_id, after in found.tasks.items()]
    return DagPlan(dag_id=found.dag_id, tasks=tuple(tasks), **found.settings)


def run_leg(_order: RunLeg, _dag: Any, _port: Any) -> Outcome:
    """Nothing runs here."""
    return Skipped("parsed only")
