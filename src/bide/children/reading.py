"""What a DAG file reads while it is imported: when that changes, the file has to be looked at again.

Modules are known to the import system; data files and listed folders are not. Python tells of them by audit events.
"""

import os
import sys
from typing import Any

MOST = 1000
"""Paths that are kept; a file that reads more is looked at again when it changes itself."""

_OPEN, _LISTS = "open", ("os.listdir", "os.scandir")
# `os.open` tells of flags instead of a mode.
_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Reading:
    """Takes down what is opened and listed below a folder, from its start until it is stopped."""

    def __init__(self, root: str) -> None:
        self._root = os.path.join(os.path.abspath(root), "")
        self._read: set[str] = set()
        self._written: set[str] = set()
        self._going_on = True

    def start(self) -> None:
        """Begin; a hook cannot be taken away again, so this is for processes that end soon."""
        sys.addaudithook(self._heard)

    def stop(self) -> set[str]:
        """End, and return what was read. What the file itself writes changes with each look, so it does not count."""
        self._going_on = False
        folders = {os.path.dirname(path) for path in self._written}
        return {path for path in self._read - self._written if path not in folders}

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._going_on or (event != _OPEN and event not in _LISTS):
            return
        path = self._below(arguments[0])
        # The import system lists and opens on its own account; its modules are known anyway.
        if path is None or sys._getframe(1).f_code.co_filename.startswith("<frozen importlib"):
            return
        kept = self._written if event == _OPEN and _writes(arguments) else self._read
        if len(kept) < MOST:
            kept.add(path)

    def _below(self, path: object) -> str | None:
        if path is None:
            path = "."
        if not isinstance(path, str | bytes):
            return None
        found = os.path.abspath(os.fsdecode(path))
        return found if os.path.join(found, "").startswith(self._root) else None


def _writes(arguments: tuple[Any, ...]) -> bool:
    _, mode, flags = arguments
    if isinstance(mode, str):
        return not mode.startswith("r") or "+" in mode
    return isinstance(flags, int) and bool(flags & _WRITING_FLAGS)
