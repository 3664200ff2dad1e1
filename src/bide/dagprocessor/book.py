"""What is known of each DAG file, and which one is to be parsed next. No I/O: it is told what others have seen."""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from bide.dagprocessor.finding import Found, Stamp
from bide.model.questions import ReadByFile

OTHERS_PAUSE_SEC = 0.5
"""A file is parsed for the sake of others, which it reads, not more often than this: it may well write them itself."""
CLOCK_STEP_NS = 20_000_000
"""A file system's clock may lag behind by this much."""


QUICK_SEC = 0.2
FEW = 4
"""While there are but a few times as many as may be parsed together, they are better shared among the processors."""


@dataclass
class File:
    """One DAG file: how it looked when it was last seen and when it was parsed, and so did those that it reads."""

    path: str
    seen: Stamp | None = None
    parsed: Stamp | None = None
    others: Mapping[str, Stamp | None] = field(default_factory=dict)
    # What it has read of variables and connections, each with the digest of the answer.
    asked: Mapping[ReadByFile, str] = field(default_factory=dict)
    settled: bool = True
    began_at: float = -OTHERS_PAUSE_SEC
    seconds: float = 0.0
    waits: bool = False
    is_parsed_now: bool = False
    changed_meanwhile: bool = False
    # Somebody has saved it just now, and waits for it.
    urgent: bool = False
    # It was being parsed when the process that parses was lost; next time nobody else will be.
    suspect: bool = False
    # Something was wrong when it was parsed together with others: next time it has a process for itself.
    apart: bool = False


class Book:
    """All DAG files, by their paths below the folder."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        """`seconds` are the files that the database knows, and how long each took: the slow ones come last."""
        self._files: dict[str, File] = {}
        self._seconds = dict(seconds)
        self._queue: list[tuple[bool, bool, float, int, str]] = []
        self._has_looked = False
        self._numbers = count()

    def looked(self, found: Found, others: Mapping[str, Stamp | None], now: float) -> list[str]:
        """Take in what a look has found, and return the files that are gone. Those that have changed wait now.

        Gone ones are told again until they are `forgotten`.
        """
        for path, stamp in found.files.items():
            file = self._files.setdefault(path, File(path, seconds=self._seconds.get(path, 0.0)))
            was_saved, file.seen = self._has_looked and stamp != file.seen, stamp
            if file.parsed != stamp or (self._others_changed(file, others) and not self._too_soon(file, now)):
                if not file.waits:
                    file.urgent = self._has_looked
                elif was_saved and not file.urgent:
                    # Among many that wait since the first look, somebody waits for this one now.
                    file.urgent, file.waits = True, False
                self.wants(path)
        self._has_looked = True
        known = self._files.keys() | self._seconds.keys()
        gone = sorted(path for path in known - found.files.keys() if not _is_below(path, found.closed))
        for path in gone:
            self._files.pop(path, None)
            self._seconds.setdefault(path, 0.0)
        return gone

    def forgotten(self, paths: Iterable[str]) -> None:
        """The database does not know these files any more."""
        for path in paths:
            self._seconds.pop(path, None)

    def asking(self) -> list[File]:
        """List those that read variables or connections."""
        return [file for file in self._files.values() if file.asked]

    def others(self) -> set[str]:
        """Name what DAG files read beside themselves."""
        return {path for file in self._files.values() for path in file.others}

    def is_held_back(self, others: Mapping[str, Stamp | None], now: float) -> bool:
        """Say whether a file will have to be parsed for the sake of others, but not yet."""
        files = self._files.values()
        return any(self._too_soon(file, now) and self._others_changed(file, others) for file in files)

    def wants(self, path: str) -> None:
        """Let a file be parsed, again if it is being parsed now."""
        file = self._files.get(path)
        if file is None or file.waits:
            return
        if file.is_parsed_now:
            file.changed_meanwhile = True
            return
        file.waits = True
        entry = (file.suspect, not file.urgent, file.seconds, next(self._numbers), path)
        heapq.heappush(self._queue, entry)

    def first(self) -> File | None:
        """Return the file that is to be parsed next: urgent ones first, then the quick ones, suspects last."""
        while self._queue:
            file = self._files.get(self._queue[0][-1])
            if file is not None and file.waits:
                return file
            heapq.heappop(self._queue)
        return None

    def begin(self, stamp_of: Callable[[str], Stamp | None], now: float) -> File:
        """The first file is being parsed now; its stamp is taken before it is read."""
        path = heapq.heappop(self._queue)[-1]
        file = self._files[path]
        file.waits, stamp = False, stamp_of(path)
        file.parsed, file.began_at, file.is_parsed_now, file.changed_meanwhile = stamp, now, True, False
        return file

    def end(self, path: str, others: Mapping[str, Stamp | None], began_ns: int, seconds: float) -> bool:
        """A file was parsed; `others` are what it has read, as that looks now. True if a look is wanted soon."""
        file = self._files.get(path)
        if file is None:
            return False
        # What has changed since the beginning may have been read before or after; unless it looked the same earlier.
        file.settled = all(
            stamp is None or stamp == file.others.get(other) or stamp.mtime_ns < began_ns - CLOCK_STEP_NS
            for other, stamp in others.items()
        )
        file.others, file.seconds = others, seconds
        file.is_parsed_now = file.suspect = file.urgent = file.apart = False
        if file.changed_meanwhile:
            self.wants(path)
        return not file.settled

    def begin_together(self, most: int, stamp_of: Callable[[str], Stamp | None], now: float) -> list[File]:
        """The first file is being parsed now, and with it some of those that come next, if it is one of very many.

        None is among them that somebody waits for, that is known to take long, or with which something was wrong.
        """
        most = min(most, len(self._queue) // FEW)
        together = [self.begin(stamp_of, now)]
        while (
            len(together) < most
            and _is_ordinary(together[0])
            and (file := self.first()) is not None
            and _is_ordinary(file)
        ):
            together.append(self.begin(stamp_of, now))
        return together

    def left_over(self, paths: Sequence[str]) -> None:
        """These were to be parsed together with others. Something was wrong with the first; the rest was not begun."""
        for path in paths:
            if file := self._files.get(path):
                file.is_parsed_now, file.apart = False, path == paths[0]
                self.wants(path)

    def lost(self, path: str, suspect: bool) -> None:
        """Nobody knows what came of parsing a file; it is tried again."""
        if file := self._files.get(path):
            file.is_parsed_now, file.suspect = False, file.suspect or suspect
            self.wants(path)

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def _others_changed(self, file: File, others: Mapping[str, Stamp | None]) -> bool:
        if not file.settled:
            return True
        return any(path in others and others[path] != stamp for path, stamp in file.others.items())

    def _too_soon(self, file: File, now: float) -> bool:
        return now - file.began_at < OTHERS_PAUSE_SEC


def _is_ordinary(file: File) -> bool:
    return not (file.urgent or file.suspect or file.apart or file.asked) and file.seconds < QUICK_SEC


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(folder == "" or path.startswith(f"{folder}/") for folder in folders)
