"""The triggerer's view of one runner: its socket, the page that both see, its output, and the waits that are there."""

import asyncio
import logging
import mmap
import os
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bide import kernel
from bide.channel import Channel
from bide.hosting.exits import signal_name
from bide.hosting.file_reader import FileReader
from bide.model.framing import send_all
from bide.model.messages import Loaded, LoadFile, NotLoaded
from bide.model.trigger_messages import OF_FILE, WORDS_SIZE, Asked, FromRunner, RunTriggers, StopTriggers, Told, Word
from bide.process.spawn import DEFAULT_CODE, spawn
from bide.store.children import Version
from bide.triggerer.held import Held

log = logging.getLogger(__name__)

READ = 65_536
LAST_WORDS = 4_000
LEAVES_WITHIN_SEC = 1.5
MOST_AT_ONCE = 200
NANO = 1_000_000_000


class Desk(Protocol):
    """Whom runners report to."""

    def told(self, runner: "Runner", told: Told) -> None:
        """Something has become of triggers."""

    def asked(self, runner: "Runner", asked: Asked) -> None:
        """A trigger wants to know something."""

    def reader_of(self, fileloc: str) -> FileReader:
        """Somebody may be about to import a DAG file."""

    def asked_by_file(self, runner: "Runner", asked: Asked) -> None:
        """The file that it imports wants to know something."""

    def gone(self, runner: "Runner", how: str, in_hand: int) -> None:
        """Its process has ended, perhaps while one trigger was in its step, or its class was being imported."""

    def not_loaded(self, runner: "Runner", error: str) -> None:
        """Its DAG file cannot be imported."""


@dataclass(frozen=True)
class Manner:
    """How runners are started. `code` is the module that knows how to load a file."""

    root: Path
    environ: Mapping[str, str]
    code: str = DEFAULT_CODE


class Runner:
    """A process that runs triggers. With a version it runs those of one state of a DAG file.

    `is_closed` once it gets no more of them; `is_alone` if it is there for one that must not run with others.
    """

    def __init__(self, manner: Manner, desk: Desk, version: Version | None = None, *, is_alone: bool = False) -> None:
        self.began_at = self.used_at = time.monotonic()
        self.version = version
        self.reader = desk.reader_of(version.fileloc if version else "")
        self.is_alone = is_alone
        self.is_closed = False
        self.is_ready = version is None
        self.held: dict[int, Held] = {}
        self.abandoned = 0
        self._desk = desk
        self._loop = asyncio.get_running_loop()
        self._last_words: deque[bytes] = deque(maxlen=8)
        self._ended: asyncio.Task[None] | None = None
        self._output, output = os.pipe()
        self._stacks, stacks = os.pipe()
        page = shared_page()
        try:
            inherited = (page, stacks)
            arguments = (*map(str, inherited), manner.code)
            self._process, sock = spawn("bide.children.runner", arguments, manner.environ, output, inherited)
            self._page = mmap.mmap(page, WORDS_SIZE)
        except BaseException:
            os.close(self._output)
            os.close(self._stacks)
            raise
        finally:
            for descriptor in (output, stacks, page):
                os.close(descriptor)
        self._words = memoryview(self._page).cast("q")
        for descriptor in (self._output, self._stacks):
            os.set_blocking(descriptor, False)
        self._loop.add_reader(self._output, self._read_output)
        self._channel = Channel(sock, FromRunner, self._heard, self._closed)
        if version is not None:
            path = str(manner.root / version.fileloc)
            self._channel.send(LoadFile(path, str(manner.root), version.source))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it is gone."""
        return self._ended is not None and self._ended.done()

    @property
    def is_over(self) -> bool:
        """Whether nothing can be said to it any more."""
        return self._ended is not None

    def step(self) -> tuple[int, float]:
        """Return the trigger that is in its step, 0 if none, and for how many seconds."""
        number, since = self._words[Word.STEP], self._words[Word.SINCE]
        return number, (time.monotonic_ns() - since) / NANO if number else 0.0

    @property
    def in_hand(self) -> int:
        """The trigger that is in its step, or else one whose class is being imported; 0 if there is none."""
        return self._words[Word.STEP] or self._words[Word.IMPORT]

    def silent_sec(self) -> float | None:
        """Return for how long it has neither come round nor begun a step; None as long as it begins."""
        beat, step = self._words[Word.BEAT], self._words[Word.SINCE]
        return (time.monotonic_ns() - max(beat, step)) / NANO if beat else None

    def run(self, waits: Iterable[Held]) -> None:
        """Let their triggers run there."""
        self.used_at = time.monotonic()
        orders = []
        for held in waits:
            held.runner = self
            self.held[held.number] = held
            orders.append(held.order())
        for at in range(0, len(orders), MOST_AT_ONCE):
            send_all(self._channel.send, RunTriggers, orders[at : at + MOST_AT_ONCE])

    def let_go(self, waits: Iterable[Held]) -> None:
        """Let them clean up and go; what is still said about them means nobody."""
        numbers = []
        for held in waits:
            if self.held.pop(held.number, None) is not None:
                numbers.append(held.number)
                held.runner = None
        if numbers:
            self._channel.send(StopTriggers(tuple(numbers)))

    def send(self, message: object) -> None:
        """Send a message."""
        self._channel.send(message)

    async def stack(self, within_sec: float = 0.3) -> str:
        """Ask where it is just now, whatever holds it up."""
        self._read_stacks()
        kernel.send_signal(self.pid, signal.SIGUSR1)
        deadline = self._loop.time() + within_sec
        said = ""
        while not said and self._loop.time() < deadline:
            await asyncio.sleep(0.01)
            said = self._read_stacks()
        return said

    def kill(self) -> None:
        """End it at once, with all that it has begun."""
        kernel.kill_group(self.pid)

    def end(self) -> None:
        """Let its triggers clean up, and let it go."""
        if not self.is_over:
            self.is_closed = True
            self._channel.close()
            self._closed("")

    async def ended(self) -> None:
        """Wait until it is gone."""
        if self._ended is not None:
            await self._ended

    def _heard(self, message: Any) -> None:
        match message:
            case Told():
                self._desk.told(self, message)
            case Asked(number=number) if number == OF_FILE:
                self._desk.asked_by_file(self, message)
            case Asked():
                self._desk.asked(self, message)
            case Loaded():
                self.is_ready = True
            case NotLoaded(error=error):
                self.is_closed = True
                self._desk.not_loaded(self, self.reader.masker(error))

    def _closed(self, why: str) -> None:
        if self._ended is None:
            self._ended = asyncio.create_task(self._over(why, self.in_hand))

    async def _over(self, why: str, in_hand: int) -> None:
        """Its socket is closed: it ends, and what it has begun with it."""
        if why:
            log.error("A runner said what is no message: %s", why)
            self.kill()
        status = await asyncio.to_thread(self._wait)
        kernel.kill_group(self.pid)
        self._read_output()
        self._loop.remove_reader(self._output)
        os.close(self._output)
        os.close(self._stacks)
        self._words.release()
        self._page.close()
        how = f"was killed by {signal_name(-status)}" if status < 0 else f"ended with exit code {status}"
        if not self.is_closed and (words := b"".join(self._last_words)[-LAST_WORDS:].decode(errors="replace").strip()):
            how = f"{how}; its last words:\n{words}"
        self._desk.gone(self, how, in_hand)

    def _wait(self) -> int:
        try:
            return self._process.wait(LEAVES_WITHIN_SEC)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()

    def _read_output(self) -> None:
        data = _read(self._output)
        if data:
            self._last_words.append(data[-LAST_WORDS:])
        elif data is not None:
            self._loop.remove_reader(self._output)

    def _read_stacks(self) -> str:
        return (_read(self._stacks) or b"").decode(errors="replace")


def shared_page() -> int:
    """Make memory that can be shared with a child, and return its descriptor."""
    if hasattr(os, "memfd_create"):
        page = os.memfd_create("bide runner")
    else:
        with tempfile.TemporaryFile() as file:
            page = os.dup(file.fileno())
    os.ftruncate(page, WORDS_SIZE)
    return page


def _read(descriptor: int) -> bytes | None:
    try:
        return os.read(descriptor, READ)
    except (BlockingIOError, InterruptedError):
        return None
