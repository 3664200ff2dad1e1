"""Running a DAG file from its source, to get at the DAGs in it."""

from __future__ import annotations

import linecache
import os
import re
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType

from bide.authoring import scope
from bide.authoring.dag import DAG
from bide.authoring.imports import DAG_FILES, imported, importing_from
from bide.authoring.missing import what_is_meant
from bide.authoring.node import Node
from bide.authoring.place import mistake, near
from bide.authoring.traces import told, trace_of
from bide.errors import BideError, PlanError
from bide.exceptions import TaskError


class FileBroken(BideError):
    """A DAG file cannot be used. The traceback begins in the file, and is empty where the sentence says it all.

    `modules` are the files below the root that it has imported: one of them may be what must be mended.
    """

    def __init__(self, sentence: str, traceback: str = "", modules: Iterable[str] = ()) -> None:
        super().__init__(sentence)
        self.traceback = traceback
        self.modules = tuple(sorted(modules))


@dataclass(frozen=True)
class Collected:
    """What was found in a DAG file: its DAGs, and the files below the root that it has imported."""

    dags: dict[str, DAG]
    modules: tuple[str, ...]


def collect(path: str, root: str, source: str) -> Collected:
    """Run the source of a DAG file as if it stood at this path, with its imports starting from the root."""
    # Without a date the entry stays, whatever becomes of the file: tracebacks show what was run.
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    with importing_from(root), scope.watching() as seen:
        before = set(sys.modules)
        try:
            module = _run(path, root, source)
            for task in seen.tasks:
                _refuse_homeless(task)
            dags = _named([*seen.dags, *(value for value in vars(module).values() if isinstance(value, DAG))])
        except MemoryError:  # to tell more would take memory
            raise
        except BaseException as error:
            modules = imported(root, before, error) - {path}
            raise FileBroken(f"{_place(error, path)}{_sentence(error)}", _trace(error), modules) from None
    for dag in dags.values():
        dag.fileloc = path
    return Collected(dags, tuple(sorted(imported(root, before) - {path})))


def _refuse_homeless(task: Node) -> None:
    if not task.has_dag():
        raise mistake(f"Task {task.task_id!r} is in no DAG: write it below `with DAG(…):`, or pass dag=….", task.place)


def module_name(path: str, root: str) -> str:
    """Name the module of a DAG file after its path below the root, so that its classes are found again."""
    relative = os.path.relpath(path, root)
    name = re.sub(r"[^\w/]", "_", relative.removesuffix(".py"))
    return f"{DAG_FILES}.{name.replace('/', '.').strip('.')}"


def _run(path: str, root: str, source: str) -> ModuleType:
    module = ModuleType(module_name(path, root))
    module.__file__ = path
    sys.modules[module.__name__] = module
    exec(compile(source, path, "exec", dont_inherit=True), vars(module))
    return module


# Why it cannot be used. ---------------------------------------------------------------------------------------


def _sentence(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"The file ends the process while it is read ({told(error)}); take that out."
    if isinstance(error, BideError | TaskError):
        return str(error)
    if isinstance(error, SyntaxError):
        return f"{error.msg}."
    meant = what_is_meant(error) if isinstance(error, ImportError) else None
    return meant or told(error)


def _trace(error: BaseException) -> str:
    return "" if isinstance(error, PlanError) else trace_of(error)


def _place(error: BaseException, path: str) -> str:
    if isinstance(error, PlanError):  # it knows its place
        return ""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"{path}:{error.lineno}: "
    lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == path]
    return f"{path}:{lines[-1]}: " if lines else ""


def _named(found: list[DAG]) -> dict[str, DAG]:
    dags: dict[str, DAG] = {}
    for dag in found:
        there = dags.setdefault(dag.dag_id, dag)
        if there is not dag:
            raise mistake(
                f"DAG id {dag.dag_id!r} is taken by the DAG of {there.place}; give this one its own.", dag.place
            )
    return dags


def find_dag(collected: Collected, dag_id: str) -> DAG:
    """Return a DAG of a file by its id."""
    if dag_id not in collected.dags:
        raise FileBroken(f"There is no DAG {dag_id!r} in this file any more{near(dag_id, collected.dags)}")
    return collected.dags[dag_id]
