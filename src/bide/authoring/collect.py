"""Running a DAG file from its source, to get at the DAGs in it."""

from __future__ import annotations

import linecache
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import bide
from bide.authoring import scope
from bide.authoring.dag import DAG
from bide.authoring.place import mistake, near
from bide.authoring.traces import told, trace_of
from bide.errors import BideError, PlanError
from bide.exceptions import TaskError

_PREFIX = "bide_dags"
_NOT_OURS = re.compile(r"cannot import name '(\w+)' from 'bide' .*")


class FileBroken(BideError):
    """A DAG file cannot be used. The traceback begins in the file, and is empty where the sentence says it all."""

    def __init__(self, sentence: str, traceback: str = "") -> None:
        super().__init__(sentence)
        self.traceback = traceback


@dataclass(frozen=True)
class Collected:
    """What was found in a DAG file: its DAGs, and the files below the root that it has imported."""

    dags: dict[str, DAG]
    modules: tuple[str, ...]


def collect(path: str, root: str, source: str) -> Collected:
    """Run the source of a DAG file as if it stood at this path, with its imports starting from the root."""
    _prime_linecache(path, source)
    before = _forget(root)
    with _importing_from(root), scope.watching() as seen:
        module = _run(path, root, source)
    try:
        for task in seen.tasks:
            if not task.has_dag():
                raise mistake(
                    f"Task {task.task_id!r} is in no DAG: write it below `with DAG(…):`, or pass dag=….", task.place
                )
        dags = _named([*seen.dags, *(value for value in vars(module).values() if isinstance(value, DAG))])
    except PlanError as error:
        raise FileBroken(str(error)) from None
    for dag in dags.values():
        dag.fileloc = path
    return Collected(dags, tuple(sorted(_files_below(root, set(sys.modules) - before) - {path})))


def module_name(path: str, root: str) -> str:
    """Name the module of a DAG file after its path below the root, so that its classes are found again."""
    relative = os.path.relpath(path, root)
    name = re.sub(r"[^\w/]", "_", relative.removesuffix(".py"))
    return f"{_PREFIX}.{name.replace('/', '.').strip('.')}"


def _prime_linecache(path: str, source: str) -> None:
    # Without a date the entry stays, whatever becomes of the file: tracebacks show what was run.
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)


def _run(path: str, root: str, source: str) -> ModuleType:
    module = ModuleType(module_name(path, root))
    module.__file__ = path
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, path, "exec", dont_inherit=True), vars(module))
    except BaseException as error:
        del sys.modules[module.__name__]
        raise _broken(error, path) from None
    return module


def _broken(error: BaseException, path: str) -> FileBroken:
    if isinstance(error, SyntaxError) and error.filename == path:
        return FileBroken(f"{path}:{error.lineno}: {error.msg}.", trace_of(error))
    if isinstance(error, PlanError):
        return FileBroken(str(error))
    return FileBroken(f"{_place(error, path)}{_sentence(error)}", trace_of(error))


def _sentence(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"The file ends the process while it is read ({told(error)}); take that out."
    if isinstance(error, BideError | TaskError):
        return str(error)
    unknown = _NOT_OURS.fullmatch(str(error)) if isinstance(error, ImportError) else None
    if unknown is not None:
        return f"bide has no {unknown[1]!r}{near(unknown[1], bide.__all__)}"
    return told(error)


def _place(error: BaseException, path: str) -> str:
    lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == path]
    return f"{path}:{lines[-1]}: " if lines else ""


@contextmanager
def _importing_from(root: str) -> Iterator[None]:
    if root not in sys.path:
        sys.path.insert(0, root)
    yield


def _forget(root: str) -> set[str]:
    """Forget the modules below the root, so that they are imported as they are now. Returns those that stay."""
    for name, module in list(sys.modules.items()):
        if _is_below(root, module) and not name.startswith(f"{_PREFIX}."):
            del sys.modules[name]
    return set(sys.modules)


def _files_below(root: str, names: set[str]) -> set[str]:
    return {str(sys.modules[name].__file__) for name in names if _is_below(root, sys.modules[name])}


def _is_below(root: str, module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if not file or "site-packages" in file or module.__name__ == "__main__":
        return False
    return Path(root) in Path(file).parents


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
