"""Which files below the folder of DAG files are DAG files, and what they look like from outside.

A file counts if its name ends in `.py` and its text mentions both "dag" and "bide", in any case: importing thousands of
files that only help others would cost time and may do harm. Folders and files that a `.bideignore` in a folder above
them names are left out, and so are folders whose names begin with a dot, and `__pycache__`. Links are followed; a
folder that can be reached in two ways is looked into once.
"""

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from bide.errors import BideError

IGNORE_FILE = ".bideignore"
WORDS = (b"dag", b"bide")
MOST_NESTED = 50
MOST_READ = 10 * 2**20
"""Bytes of a file that are searched for the words; whoever writes more than that means it."""


class NoFolder(BideError):
    """The folder of DAG files cannot be looked into."""


class Stamp(NamedTuple):
    """How a file looks from outside; a change of its content shows here."""

    mtime_ns: int
    size: int
    inode: int


class Found(NamedTuple):
    """The DAG files, by their paths below the folder, and the folders that could not be looked into."""

    files: dict[str, Stamp]
    closed: frozenset[str]


class _Rule(NamedTuple):
    """A line of an ignore file: a pattern for what lies below its folder."""

    folder: str
    pattern: str

    def leaves_out(self, path: str, is_folder: bool) -> bool:
        if self.pattern.endswith("/") and not is_folder:
            return False
        pattern = self.pattern.rstrip("/")
        if "/" not in pattern:
            return fnmatchcase(os.path.basename(path), pattern)
        return fnmatchcase(os.path.relpath(path, self.folder or "."), pattern.lstrip("/"))


class Finder:
    """Looks through the folder; a file that has not changed since the last look is not read again."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._mentions: dict[str, tuple[Stamp, bool]] = {}

    def look(self) -> Found:
        """Find all DAG files. It takes a while where there are many, so not for an event loop."""
        if not os.path.isdir(self._root):
            raise NoFolder(
                f"The folder of DAG files {self._root} is not there, so its DAGs stay as they are: create it, or set "
                "core.dags_dir to another one."
            )
        closed: set[str] = set()
        seen: dict[str, tuple[Stamp, bool]] = {}
        for path, stamp in self._below("", (), set(), closed):
            known = self._mentions.get(path)
            seen[path] = known if known and known[0] == stamp else (stamp, self._mentions_both(path, stamp))
        self._mentions = seen
        return Found({path: stamp for path, (stamp, mentions) in seen.items() if mentions}, frozenset(closed))

    def _below(
        self, folder: str, rules: tuple[_Rule, ...], entered: set[tuple[int, int]], closed: set[str]
    ) -> Iterator[tuple[str, Stamp]]:
        here = self._root / folder
        try:
            identity = os.stat(here)
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
            rules = (*rules, *_rules(folder, here / IGNORE_FILE))
        except OSError:
            closed.add(folder)
            return
        if (identity.st_dev, identity.st_ino) in entered or folder.count(os.sep) > MOST_NESTED:
            return
        entered.add((identity.st_dev, identity.st_ino))
        for entry in entries:
            path = os.path.join(folder, entry.name)
            try:
                state = entry.stat()
            except OSError:
                continue  # it has just gone, or it is a link that leads nowhere
            is_folder = stat.S_ISDIR(state.st_mode)
            if any(rule.leaves_out(path, is_folder) for rule in rules):
                continue
            if is_folder:
                if not entry.name.startswith(".") and entry.name != "__pycache__":
                    yield from self._below(path, rules, entered, closed)
            elif entry.name.endswith(".py") and stat.S_ISREG(state.st_mode) and _is_text(path):
                yield path, Stamp(state.st_mtime_ns, state.st_size, state.st_ino)

    def _mentions_both(self, path: str, stamp: Stamp) -> bool:
        if stamp.size > MOST_READ:
            return True
        try:
            text = (self._root / path).read_bytes().lower()
        except OSError:
            return True  # that it cannot be read is for its author to know
        return all(word in text for word in WORDS)


def stamp_of(path: str) -> Stamp | None:
    """Look at one file or folder; None if it is not there."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return Stamp(state.st_mtime_ns, state.st_size, state.st_ino)


def _rules(folder: str, file: Path) -> list[_Rule]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [_Rule(folder, line.strip()) for line in lines if line.strip() and not line.startswith("#")]


def _is_text(path: str) -> bool:
    """Say whether a name can be written down: one with bytes of another encoding cannot."""
    return path.isprintable()
