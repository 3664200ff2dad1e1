"""The modules beside a DAG file: imported from its root, as they are now, and remembered by the files they stand in."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

DAG_FILES = "bide_dags"
"""The package that DAG files themselves seem to be in, so that they hide no module of the same name."""

_roots: list[str] = []


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
    new = [module for name, module in list(sys.modules.items()) if name not in set(before)]
    files = {file for module in new if (file := getattr(module, "__file__", None)) and _is_below(root, module)}
    passed = traceback.walk_tb(error.__traceback__) if error is not None else ()
    return files | {file for frame, _ in passed if _lies_below(root, file := frame.f_code.co_filename)}


def _forget(root: str) -> None:
    # All are found before any is forgotten: folders without a file ask for the package that they lie in.
    below = [name for name, module in list(sys.modules.items()) if _is_below(root, module)]
    for name in below:
        if not name.startswith(f"{DAG_FILES}."):
            del sys.modules[name]


def _is_below(root: str, module: ModuleType) -> bool:
    if module.__name__ == "__main__":
        return False
    # Folders without an __init__.py are modules without a file.
    file = getattr(module, "__file__", None)
    places = [file] if file else list(getattr(module, "__path__", ()))
    return any(_lies_below(root, place) for place in places if isinstance(place, str))


def _lies_below(root: str, place: str) -> bool:
    path = Path(place)
    return Path(root) in path.parents and "site-packages" not in path.parts
