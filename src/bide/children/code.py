"""Where the children find the code that turns a file into DAGs and plans, and runs a leg of them.

A module with these functions is named on the command line of `bide.children.warm` and `bide.children.parser`; this is
the one that is used.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from bide.model.messages import RunLeg
from bide.model.outcome import Outcome
from bide.model.plan import DagPlan


WHAT_FILES_IMPORT = ("bide.authoring.collect", "bide.authoring.plan", "bide.taskflow", "bide.operators", "bide.sensors")


def prepare() -> None:
    """Import what most files need, before processes are forked."""
    for module in WHAT_FILES_IMPORT:
        import_module(module)


def collect(path: str, root: str, source: str) -> Any:
    """Import a DAG file from its source; the answer has its `dags` by id and the `modules` that it has imported."""
    return import_module("bide.authoring.collect").collect(path, root, source)


def to_plan(dag: Any) -> DagPlan:
    """Turn a DAG into what is stored of it."""
    plan: DagPlan = import_module("bide.authoring.plan").to_plan(dag)
    return plan


def load(path: str, root: str, source: str) -> Mapping[str, Any]:
    """Import a DAG file from its source and return its DAGs by id."""
    found: Mapping[str, Any] = import_module("bide.authoring").collect(path, root, source).dags
    return found


def run_leg(order: RunLeg, dag: Any, port: Any) -> Outcome:
    """Run a leg of a task of the DAG."""
    outcome: Outcome = import_module("bide.children.run").run_leg(order, dag, port)
    return outcome
