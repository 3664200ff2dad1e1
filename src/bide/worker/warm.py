"""The worker's view of one warm process: it holds one version of one DAG file and forks the children of its legs.

Starting Python and importing what every file needs takes far longer than most files do, and does not depend on the
file. So a process may be started before it is known which file it shall hold.
"""

import asyncio
import logging
import os
import subprocess
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bide import kernel
from bide.channel import Channel
from bide.hosting.exits import signal_name
from bide.model.messages import Answer, Fork, Forked, FromWarm, Gone, Kill, Loaded, LoadFile, NotLoaded, Stop
from bide.model.questions import GetConnection, GetVariable
from bide.process.spawn import DEFAULT_CODE, spawn
from bide.store.children import Version
from bide.worker.child import Child, Desk
from bide.worker.leg import Work

log = logging.getLogger(__name__)

LAST_WORDS = 4_000
LEAVES_WITHIN_SEC = 8.0
"""It kills its children first, and gives them five seconds."""
CUT_WITHIN_SEC = 5.0


@dataclass(frozen=True)
class Manner:
    """How a worker's processes are started. `code` is the module that knows how to load a file and to run a leg."""

    root: Path
    environ: Mapping[str, str]
    legs_per_child: int = 1
    child_memory_mb: int = 0
    code: str = DEFAULT_CODE


class WarmProcess:
    """A process for one version, once it was told which. Legs that come before it is ready wait here."""

    def __init__(self, manner: Manner, desk: Desk) -> None:
        self.reader = desk.reader_of("")
        self.began_at = self.used_at = time.monotonic()
        self.is_ready = False
        self.is_over = False
        self.waiting: list[Work] = []
        self.children: dict[int, Child] = {}
        self.idle: list[Child] = []
        self._manner = manner
        self._desk = desk
        self._numbers = 0
        self._last_words: deque[bytes] = deque(maxlen=8)
        self._output, theirs = os.pipe()
        try:
            self._process, sock = spawn("bide.children.warm", [manner.code], manner.environ, theirs)
        except BaseException:
            os.close(self._output)
            raise
        finally:
            os.close(theirs)
        os.set_blocking(self._output, False)
        asyncio.get_running_loop().add_reader(self._output, self._read_output)
        self._channel = Channel(sock, FromWarm, self._heard, self._closed)
        self._end: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it is gone, and all of its children with it."""
        return self._end is not None and self._end.done()

    @property
    def is_used(self) -> bool:
        """Whether any leg needs it."""
        return bool(self.waiting) or len(self.children) > len(self.idle)

    def answer(self, answer: Answer) -> None:
        """Answer what the file has asked while it is imported."""
        self._channel.send(answer)

    def load(self, version: Version) -> None:
        """Import this version of a DAG file; only once."""
        self.reader = self._desk.reader_of(version.fileloc)
        self.began_at = self.used_at = time.monotonic()
        root = self._manner.root
        self._channel.send(LoadFile(str(root / version.fileloc), str(root), version.source))

    def run(self, leg: Work) -> None:
        """Run a leg in one of its children."""
        self.used_at = time.monotonic()
        leg.warm = self
        if not self.is_ready:
            self.waiting.append(leg)
            return
        try:
            child = self.idle.pop() if self.idle else self._fork()
        except OSError as error:
            self._desk.cannot_run(leg, f"No process can be started: {error}.", "")
            return
        # What the file has read its tasks know, too.
        leg.masker.include(self.reader.masker)
        child.run(leg)

    def rest(self, child: Child) -> None:
        """A child waits for the next leg."""
        self.used_at = time.monotonic()
        self.idle.append(child)

    def stop(self, child: Child) -> None:
        """Ask a child to end."""
        self._channel.send(Stop(child.number))

    def kill(self, child: Child) -> None:
        """End a child and all that it has begun."""
        self._channel.send(Kill(child.number))

    def is_too_slow(self, load_sec: float) -> None:
        """Give up an import that takes too long."""
        self._give_up(f"The DAG file took more than {load_sec:g} s to be imported (worker.load_sec).", "")
        self.kill_all()

    def kill_all(self) -> None:
        """End it at once, and with it all of its children."""
        self._process.kill()

    def end(self) -> None:
        """Let it kill what it has forked, and end."""
        if not self.is_over:
            self._channel.close()
            self._closed("")

    async def ended(self) -> None:
        """Wait until it and its children are gone."""
        if self._end is not None:
            await self._end

    def _fork(self) -> Child:
        self._numbers += 1
        legs = self._manner.legs_per_child
        child = Child(self._numbers, legs, self, self._desk)
        self.children[child.number] = child
        self._channel.send(Fork(child.number, legs, self._manner.child_memory_mb), child.their_ends)
        child.close_their_ends()
        return child

    def _heard(self, message: FromWarm) -> None:
        match message:
            case Forked(number=number, pid=pid):
                self.children[number].pid = pid
            case Gone(number=number):
                self._bury(self.children.pop(number), message)
            case Loaded():
                self.is_ready = True
                waiting, self.waiting = self.waiting, []
                for leg in waiting:
                    self.run(leg)
            case NotLoaded(error=error, traceback=traceback):
                self._give_up(f"The DAG file cannot be imported: {error}", traceback)
            case GetVariable() | GetConnection():
                self._desk.asked_by_file(self, message)

    def _bury(self, child: Child, gone: Gone) -> None:
        if child in self.idle:
            self.idle.remove(child)
        # Whatever it said before it ended is heard first.
        child.channel.drain()
        child.read_rest()
        self._desk.gone(child, gone)
        child.close()

    def _give_up(self, error: str, traceback: str) -> None:
        waiting, self.waiting = self.waiting, []
        mask = self.reader.masker
        for leg in waiting:
            self._desk.cannot_run(leg, mask(error), mask(traceback))

    def _closed(self, why: str) -> None:
        self.is_over = True
        self._end = asyncio.create_task(self._over(why))

    async def _over(self, why: str) -> None:
        """Its socket is closed. Its children die with it, but what they have begun is killed from here."""
        for child in self.children.values():
            if child.pid is not None:
                kernel.kill_group(child.pid)
        status = await asyncio.to_thread(self._wait)
        how = f"was killed by {signal_name(-status)}" if status < 0 else f"ended with exit code {status}"
        if why:
            log.error("A warm process said what is no message (%s) and %s.", why, how)
        self._read_output()
        asyncio.get_running_loop().remove_reader(self._output)
        os.close(self._output)
        words = b"".join(self._last_words)[-LAST_WORDS:].decode(errors="replace")
        self._give_up(f"The DAG file cannot be imported: its process {how}.", words)
        if self.children:
            await asyncio.wait([child.cut for child in self.children.values()], timeout=CUT_WITHIN_SEC)
        for number in list(self.children):
            gone = Gone(number, -9, why=f"the process that it was forked from {how}")
            self._bury(self.children.pop(number), gone)

    def _wait(self) -> int:
        try:
            return self._process.wait(LEAVES_WITHIN_SEC)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _read_output(self) -> None:
        try:
            data = os.read(self._output, LAST_WORDS)
        except (BlockingIOError, InterruptedError):
            return
        if data:
            self._last_words.append(data)
        else:
            asyncio.get_running_loop().remove_reader(self._output)
