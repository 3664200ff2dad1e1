"""The DAG processor: it looks for changed files, has them parsed, and stores what was found.

Three chores run side by side. `look` finds what has changed, `watch` says when to look, and `store` writes all that
was parsed while it was writing before. In between as many files are parsed as there are processors; one that turns out
to be slow gives its place to others, so that it holds nobody up.
"""

import asyncio
import logging
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path

from bide import keys
from bide.dagprocessor.book import OTHERS_PAUSE_SEC, Book, File
from bide.dagprocessor.finding import Finder, Stamp, stamp_of
from bide.dagprocessor.parsers import SLOW_SEC, ParserLost, Parsers
from bide.dagprocessor.storing import Result, Storer
from bide.dagprocessor.watching import Watcher
from bide.hosting.answers import Answers
from bide.hosting.file_reader import changed
from bide.model.messages import Broken, Parsed
from bide.process.loop import Chore
from bide.process.membership import Member
from bide.process.program import Ground
from bide.process.spawn import DEFAULT_CODE, environment
from bide.process.wakes import Bell
from bide.sealing import Sealer
from bide.store import plans
from bide.store.jobs import JobType, NewJob
from bide.store.plans import Fate, Stored
from bide.store.wake import Channel

log = logging.getLogger(__name__)

MOST_SLOW = 16
"""Files that may be slow at the same time without being in the way; each may take all the memory it is allowed."""
MOST_TOGETHER = 20
"""Files that one child parses, one after the other, when there are very many: a fork takes longer than a file."""
NEWS = (Fate.NEW, Fate.CHANGED)
LOOK_AT_MOST_EVERY_SEC = 0.05
WATCH_AGAIN_SEC = 1.0
STORE_AT_LEAST_EVERY_SEC, STORE_AT_MOST_EVERY_SEC = 5.0, 0.1


class DagProcessor:
    """One DAG processor; several of the same folder do no harm."""

    name = "DAG processor"

    def __init__(self, place: Ground, code: str = DEFAULT_CODE) -> None:
        """`code` names the module that turns a file into DAGs and plans."""
        settings = place.settings
        self._db = place.db
        self._bells = place.bells
        self._mine = settings.dag_processor
        self._root: Path = settings.core.dags_dir
        known = keys.keys(settings)
        patience = timedelta(seconds=settings.triggerer.kill_deadline_sec)
        self._answers = Answers(place.db, place.bells, Sealer(known), os.environ, patience)
        self._parsers = Parsers(
            self._root,
            environment(os.environ, [place.url, *known], settings.operators),
            self._answers,
            self._mine.file_timeout_sec,
            self._mine.file_memory_mb,
            code,
        )
        self._storer = Storer(place.db, self._root, self._mine.dags_are_paused_at_creation)
        self._finder = Finder(self._root)
        self._look_bell, self._store_bell = Bell(), Bell()
        self._tasks: dict[asyncio.Task[None], File] = {}
        self._slow: set[asyncio.Task[None]] = set()
        # From the first look on.
        self._book: Book | None = None
        self._results: dict[str, Result] = {}
        # Which files would like to have a DAG that another file has.
        self._contested: dict[str, set[str]] = defaultdict(set)

    def job(self) -> NewJob:
        """Say what to register."""
        return NewJob(
            job_type=JobType.DAG_PROCESSOR,
            hostname="",
            capacity=self._mine.parsing_processes,
            heartbeat_sec=self._mine.job_heartbeat_sec,
        )

    def chores(self) -> Sequence[Chore]:
        """List what it does again and again."""
        watcher = Watcher(self._root, self._look_bell.ring)
        return [
            Chore("Looking for DAG files", self.look, self._mine.rescan_sec, self._look_bell, LOOK_AT_MOST_EVERY_SEC),
            Chore("Looking at variables of DAG files", self.look_at_answers, self._mine.rescan_sec),
            Chore("Watching DAG files", watcher.watch, WATCH_AGAIN_SEC),
            Chore("Storing plans", self.store, STORE_AT_LEAST_EVERY_SEC, self._store_bell, STORE_AT_MOST_EVERY_SEC),
        ]

    async def begin(self, _member: Member) -> None:
        """Forget everything: every file is parsed once by each processor, for what it imports may have changed."""
        self._book = None
        self._results.clear()
        self._contested.clear()

    async def drain(self, _hurry: asyncio.Event) -> None:
        """Nothing has to be finished: what was not stored is found again."""

    async def drop(self) -> None:
        """Stop parsing."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._parsers.close()

    async def look(self) -> None:
        """Find what has changed, and have it parsed; let go of what is no longer there."""
        if self._book is None:
            self._book = Book(await plans.files_looked_at(self._db))
        book = self._book
        found, others = await asyncio.to_thread(lambda: (self._finder.look(), stamps(book.others())))
        now = time.monotonic()
        if gone := book.looked(found, others, now):
            freed = await plans.forget_files(self._db, gone)
            book.forgotten(gone)
            self._free(freed)
            self._bells.ring(Channel.SCHEDULER)
        if book.is_held_back(others, now):
            asyncio.get_running_loop().call_later(OTHERS_PAUSE_SEC, self._look_bell.ring)
        self._fill()

    async def look_at_answers(self) -> None:
        """Have files parsed again that have read variables and connections, if these have changed."""
        book = self._book
        for file in book.asking() if book else ():
            if await changed(file.asked, self._answers):
                self._want([file.path])

    async def store(self) -> None:
        """Write what was parsed."""
        results, self._results = self._results, {}
        if not results:
            return
        try:
            told = await self._storer.store(list(results.values()))
        except BaseException:
            # What is younger counts more.
            self._results = results | self._results
            raise
        for path, stored in told.stored.items():
            self._note(path, stored)
        self._free(told.gone)
        self._want(told.again)
        if told.gone or any(one.outcome in NEWS for stored in told.stored.values() for one in stored):
            self._bells.ring(Channel.SCHEDULER)

    def _fill(self) -> None:
        """Parse as many files as there is room for."""
        while self._book and (file := self._book.first()) and self._has_room(file):
            files = self._book.begin_together(MOST_TOGETHER, self._stamp_of, time.monotonic())
            task = asyncio.create_task(self._parse_together(files) if len(files) > 1 else self._parse(file))
            self._tasks[task] = file
            task.add_done_callback(self._done)
            asyncio.get_running_loop().call_later(SLOW_SEC, self._is_slow, task)

    def _has_room(self, file: File) -> bool:
        """Say whether a file may be parsed now.

        A slow one is in nobody's way, and those that are not urgent are not in the way of those that are. A suspect has
        to be alone, until it turns out to be slow; another suspect waits even then, for it may be the one.
        """
        in_the_way = [other for task, other in self._tasks.items() if task not in self._slow]
        if file.suspect:
            return not self._tasks
        if any(other.suspect for other in in_the_way):
            return False
        rivals = [other for other in in_the_way if other.urgent] if file.urgent else in_the_way
        return len(rivals) < self._mine.parsing_processes

    def _is_slow(self, task: asyncio.Task[None]) -> None:
        if task in self._tasks and len(self._slow) < MOST_SLOW:
            self._slow.add(task)
            self._fill()

    def _done(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._slow.discard(task)
        if not task.cancelled():
            if error := task.exception():
                log.error("A file could not be parsed: %r", error, exc_info=error)
            self._fill()

    def _stamp_of(self, path: str) -> Stamp | None:
        return stamp_of(os.path.join(self._root, path))

    async def _parse_together(self, files: Sequence[File]) -> None:
        book, stamps = self._book, [file.parsed for file in files]
        if book is None:
            return
        began_ns, answers = time.time_ns(), []
        try:
            answers = await self._parsers.parse_together([file.path for file in files])
        except ParserLost:
            log.debug("Nobody knows what came of some files; the first of them is tried by itself.")
        for file, stamp, (parsed, seconds) in zip(files, stamps, answers, strict=False):
            self._take(book, file.path, parsed, stamp, began_ns, seconds)
        book.left_over([file.path for file in files[len(answers) :]])

    async def _parse(self, file: File) -> None:
        book, path, stamp, was_suspect = self._book, file.path, file.parsed, file.suspect
        if book is None:
            return
        began_ns, seconds = time.time_ns(), 0.0
        try:
            parsed, seconds, asked = await self._parsers.parse(path)
            file.asked = asked
        except ParserLost as lost:
            if not (lost.had_begun and was_suspect and len(self._tasks) == 1):
                book.lost(path, lost.had_begun)
                return
            # Nobody else was there, both times.
            parsed = Parsed(broken=Broken("The file ends the process that it is parsed by; take that out."))
        self._take(book, path, parsed, stamp, began_ns, seconds)

    def _take(self, book: Book, path: str, parsed: Parsed, stamp: Stamp | None, began_ns: int, seconds: float) -> None:
        """Take in what was found in a file."""
        others = stamps(below(self._root, parsed.modules))
        if book.end(path, others, began_ns, seconds):
            self._look_bell.ring()
        # A file that has just gone is dealt with by the next look.
        if stamp is not None and path in book:
            self._results[path] = Result(path, parsed, stamp, seconds, others)
            self._store_bell.ring()

    def _note(self, path: str, stored: Iterable[Stored]) -> None:
        for one in stored:
            if one.outcome is Fate.REFUSED:
                self._contested[one.name].add(path)
                log.warning("%s: the DAG %s is in %s already.", path, one.name, one.holder)
            elif one.outcome in NEWS:
                log.info("%s: the DAG %s is %s.", path, one.name, one.outcome.value)

    def _free(self, dag_ids: Iterable[str]) -> None:
        """These DAGs are in no file: whoever wanted to have one may try again."""
        for dag_id in dag_ids:
            self._want(self._contested.pop(dag_id, ()))

    def _want(self, paths: Iterable[str]) -> None:
        if self._book:
            for path in paths:
                self._book.wants(path)
            self._fill()


def stamps(paths: Iterable[str]) -> dict[str, Stamp | None]:
    """Look at files and folders, by their whole paths."""
    return {path: stamp_of(path) for path in paths}


def below(root: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Keep what lies below a folder, and the folder itself: a child may have told anything."""
    start = os.path.join(root, "")
    return tuple(sorted(path for path in set(paths) if os.path.join(os.path.normpath(path), "").startswith(start)))
