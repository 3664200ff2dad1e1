"""The modules beside a DAG file: imported from its root, as they are now, and remembered by the files they stand in."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType

DAG_FILES = "bide_dags"
"""The package that DAG files themselves seem to be in, so that they hide no module of the same name."""

_roots: list[str] = []
# By root: modules that were looked at and do not lie below it. There are hundreds, and each file asks several times.
_elsewhere: dict[str, dict[str, ModuleType]] = {}


@contextmanager
def importing_from(root: str) -> Iterator[None]:
    """Let imports start from a root, which they go on doing afterwards: tasks import too, when they run."""
    for known in {*_roots, root}:
        _forget(known)
    sys.path[:] = [root, *(path for path in sys.path if path not in _roots and path != root)]
    _roots[:] = [root]
    importlib.invalidate_caches()
    # Compiled files know the second in which their source was saved: too little for who saves twice in one.
    writes = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes


def imported(root: str, before: Iterable[str], error: BaseException | None = None) -> set[str]:
    """List the files below a root that were imported since, and those that an error came from."""
    new = _below(root) - set(before)
    files = {file for name in new if (file := getattr(sys.modules[name], "__file__", None))}
    passed = traceback.walk_tb(error.__traceback__) if error is not None else ()
    return files | {file for frame, _ in passed if _lies_in(_inside(root), file := frame.f_code.co_filename)}


def is_below_a_root(file: object) -> bool:
    """Tell whether a file lies where the imports of DAG files start from."""
    return any(_lies_in(_inside(root), file) for root in _roots)


def _forget(root: str) -> None:
    for name in _below(root):
        if not name.startswith(f"{DAG_FILES}."):
            del sys.modules[name]


def _below(root: str) -> set[str]:
    """List the modules below a root. Folders without an __init__.py are modules too, without a file."""
    inside, found = _inside(root), set()
    elsewhere = _elsewhere.setdefault(root, {})
    for name, module in list(sys.modules.items()):
        if elsewhere.get(name) is module:
            continue
        file = getattr(module, "__file__", None)
        places = (file,) if file else getattr(module, "__path__", ())
        if any(_lies_in(inside, place) for place in places) and name != "__main__":
            found.add(name)
        elif file:
            elsewhere[name] = module
    return found


def _inside(root: str) -> str:
    return os.path.join(root, "")


def _lies_in(inside: str, place: object) -> bool:
    return isinstance(place, str) and place.startswith(inside) and f"{os.sep}site-packages{os.sep}" not in place
