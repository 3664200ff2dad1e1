"""Where the children find the code that turns a file into DAGs and plans, and runs a leg of them.

A module with these functions is named on the command line of `bide.children.warm` and `bide.children.parser`; this is
the one that is used.
"""

from collections.abc import Mapping
from importlib import import_module

from bide.authoring import DAG
from bide.authoring.collect import Collected, collect
from bide.authoring.plan import to_plan
from bide.children.run import run_leg

__all__ = ["Collected", "collect", "load", "prepare", "run_leg", "to_plan"]

WHAT_FILES_IMPORT = ("bide.taskflow", "bide.operators", "bide.sensors")


def prepare() -> None:
    """Import what most files need, before processes are forked."""
    for module in WHAT_FILES_IMPORT:
        import_module(module)


def load(path: str, root: str, source: str) -> Mapping[str, DAG]:
    """Import a DAG file from its source and return its DAGs by id."""
    return collect(path, root, source).dags
