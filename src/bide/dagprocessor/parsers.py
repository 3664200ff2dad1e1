"""Having files parsed: a process that is ready for it, children of it for the files, and an end to both.

Nobody here trusts a child. It is given so much time and memory; what it prints is read and mostly dropped; what it
answers is decoded with limits; and if it kills the process that it comes from, another one is started.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bide.channel import Channel
from bide.dagprocessor.tail import Tail
from bide.dagprocessor.talk import Talk
from bide.hosting.answers import Answers
from bide.hosting.file_reader import FileReader
from bide.model.messages import (
    EXIT_CUT_OFF,
    Broken,
    Fork,
    Forked,
    FromWarm,
    Gone,
    Kill,
    Parsed,
    ParseFiles,
    Stop,
)
from bide.model.questions import ReadByFile
from bide.process.masking import Masker
from bide.process.spawn import DEFAULT_CODE, spawn

log = logging.getLogger(__name__)

TO_SAY_WHERE_SEC = 0.5
"""That a file that takes too long has for its last words."""
TO_END_SEC = 5.0
"""After which a child that was killed should be gone; if not, the process that it comes from is replaced."""
TO_START_SEC = 60.0
TO_FORK_SEC = 5.0
SLOW_SEC = 1.0
LOWER_PRIORITY = 10
PAUSE_SEC = 1.0
"""Between two starts of the process, if it does not stay."""


class ParserLost(Exception):
    """The process that parses is gone, so nobody knows what came of the file; it may have done that if it had begun."""

    def __init__(self, had_begun: bool) -> None:
        super().__init__("the process that parses DAG files is gone")
        self.had_begun = had_begun


@dataclass
class _Parsing:
    """A child that parses."""

    number: int
    begun: asyncio.Future[float]
    gone: asyncio.Future[Gone]
    pid: int | None = None


class Parsers:
    """The process that parses and its children. `environ` is what they may see of the environment."""

    def __init__(
        self,
        root: Path,
        environ: Mapping[str, str],
        answers: Answers,
        timeout_sec: float,
        memory_mb: int,
        code: str = DEFAULT_CODE,
    ) -> None:
        """`code` names the module that turns a file into DAGs and plans."""
        self._root = str(root)
        self._answers = answers
        self._environ = environ
        self._timeout_sec = timeout_sec
        self._memory_mb = memory_mb
        self._code = code
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._started_at = -PAUSE_SEC
        self._number = 0
        self._going_on: dict[int, _Parsing] = {}

    async def parse(self, path: str) -> tuple[Parsed, float, Mapping[ReadByFile, str]]:
        """Have a file parsed. Whatever it does, there is an answer in time.

        Tells how many seconds that took, and what the file has asked for, each with the digest of the answer.
        """
        reader = FileReader(path, self._answers)
        async with self._child((path,), reader) as (parsing, talk, tail):
            gone = await self._end_of(parsing)
            talk.channel.drain()
            seconds = time.monotonic() - parsing.begun.result() if parsing.begun.done() else 0.0
            parsed = _outcome(talk, gone, tail.text(), self._timeout_sec)
            return _masked(parsed, reader.masker), seconds, reader.digests

    async def parse_together(self, paths: Sequence[str]) -> list[tuple[Parsed, float]]:
        """Have files parsed by one child, for as long as nothing is wrong, and tell what is in the first of them.

        What is told is good. A file in which something is wrong, that asks for something, or that takes long, is none
        of these: it may have met what another has left behind, so nothing is believed of it, and nothing answered to
        it, before it is parsed by a child of its own.
        """
        async with self._child(tuple(paths), None) as (parsing, talk, _):
            if await self._begins(parsing):
                while len(talk.parsed) < len(paths) and await talk.goes_on(SLOW_SEC) and not parsing.gone.done():
                    pass
            talk.channel.drain()
            good = list(takewhile(lambda answer: answer[0].broken is None, talk.parsed))
            begun = [parsing.begun.result(), *(at for _, at in good)] if good else []
            return [(parsed, at - before) for (parsed, at), before in zip(good, begun, strict=False)]

    @asynccontextmanager
    async def _child(
        self, paths: tuple[str, ...], reader: FileReader | None
    ) -> AsyncIterator[tuple[_Parsing, Talk, Tail]]:
        """Fork a child that parses these files; whatever becomes of it, it is gone in the end."""
        channel = await self._ready()
        self._number += 1
        loop = asyncio.get_running_loop()
        parsing = _Parsing(self._number, loop.create_future(), loop.create_future())
        self._going_on[parsing.number] = parsing
        ours, theirs = socket.socketpair()
        tail = Tail()
        with theirs:
            channel.send(Fork(parsing.number, memory_mb=self._memory_mb), [theirs.fileno(), tail.writes])
        tail.close_other_end()
        talk = Talk(ours, reader)
        try:
            talk.channel.send(ParseFiles(tuple(os.path.join(self._root, path) for path in paths), self._root))
            yield parsing, talk, tail
        finally:
            if parsing.gone.done():
                # What went wrong was told by other ways.
                parsing.gone.exception()
            else:
                self._tell(Kill(parsing.number))
            self._going_on.pop(parsing.number, None)
            talk.close()
            tail.close()

    async def close(self) -> None:
        """End the process and all its children."""
        if self._process is None:
            return
        process = self._process
        self._lost("closed")
        try:
            # It kills its children when its socket is closed.
            await asyncio.to_thread(process.wait, TO_END_SEC)
        except subprocess.TimeoutExpired:
            process.kill()
            await asyncio.to_thread(process.wait)

    async def _end_of(self, parsing: _Parsing) -> Gone | None:
        """Wait for the end of a child, and see to it that there is one; None if it took too long."""
        if not await self._begins(parsing):
            self._lost("it does not answer")
        if gone := await _within(min(SLOW_SEC, self._timeout_sec), parsing.gone):
            return gone
        if parsing.pid is not None:
            _lower(parsing.pid)
        if gone := await _within(self._timeout_sec - SLOW_SEC, parsing.gone):
            return gone
        # The first signal asks where it is, the second one ends it.
        self._tell(Stop(parsing.number))
        await _within(TO_SAY_WHERE_SEC, parsing.gone)
        self._tell(Kill(parsing.number))
        if await _within(TO_END_SEC, parsing.gone) is None:
            log.error("A child that was killed does not end; all that parses is started anew.")
            self._lost("its children do not end")
        return None

    async def _begins(self, parsing: _Parsing) -> bool:
        """Wait until there is a child. The process that it comes from may still be importing what it needs."""
        patience = max(TO_FORK_SEC, self._started_at + TO_START_SEC - time.monotonic())
        begun_or_gone: list[asyncio.Future[Any]] = [parsing.begun, parsing.gone]
        done, _ = await asyncio.wait(begun_or_gone, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)

    async def _ready(self) -> Channel:
        """Return the way to a process that is ready, or soon will be."""
        while self._channel is None:
            wait = self._started_at + PAUSE_SEC - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
                continue
            self._started_at = time.monotonic()
            # What goes wrong in it stands where this service's own words stand.
            self._process, ours = spawn("bide.children.parser", [self._code], self._environ, output=2)
            self._channel = Channel(ours, FromWarm, self._heard, self._lost)
        return self._channel

    def _heard(self, message: Forked | Gone | object) -> None:
        match message:
            case Forked(number=number, pid=pid) if number in self._going_on and not self._going_on[number].begun.done():
                self._going_on[number].pid = pid
                self._going_on[number].begun.set_result(time.monotonic())
            case Gone(number=number) if number in self._going_on and not self._going_on[number].gone.done():
                self._going_on[number].gone.set_result(message)

    def _lost(self, why: str) -> None:
        process, self._process = self._process, None
        if self._channel:
            self._channel.close()
            self._channel = None
        for parsing in self._going_on.values():
            if not parsing.gone.done():
                parsing.gone.set_exception(ParserLost(parsing.pid is not None))
        if process and why != "closed":
            log.warning("The process that parses DAG files is gone (%s); it is started anew.", why or "it ended")
            process.kill()
            asyncio.get_running_loop().run_in_executor(None, process.wait)

    def _tell(self, order: Stop | Kill) -> None:
        if self._channel:
            self._channel.send(order)


async def _within(seconds: float, gone: asyncio.Future[Gone]) -> Gone | None:
    done, _ = await asyncio.wait([gone], timeout=max(0, seconds))
    return gone.result() if done else None


def _lower(pid: int) -> None:
    """Let the others go first: nobody waits for a slow file."""
    # It may just have ended.
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, pid, LOWER_PRIORITY)


def _masked(parsed: Parsed, mask: Masker) -> Parsed:
    """Keep out of what people are told what was read as a secret."""
    broken = parsed.broken
    return replace(parsed, broken=broken and Broken(mask(broken.error), mask(broken.traceback)))


def _outcome(talk: Talk, gone: Gone | None, printed: str, timeout_sec: float) -> Parsed:
    if not talk.parsed:
        return Parsed(broken=Broken(_why_no_answer(talk, gone, timeout_sec), printed))
    parsed, _ = talk.parsed[0]
    if parsed.broken is None or not printed.strip():
        return parsed
    told = parsed.broken
    return replace(parsed, broken=replace(told, traceback=f"{told.traceback}\nIt has printed:\n{printed}".strip()))


def _why_no_answer(talk: Talk, gone: Gone | None, timeout_sec: float) -> str:
    if gone is None:
        return (
            f"The file takes longer than {timeout_sec:g} s, the most that dag_processor.file_timeout_sec allows. "
            "Do the work in a task: a DAG file only says what is to be done."
        )
    if gone.why:
        return f"The file could not be parsed: {gone.why}."
    if talk.refused:
        return f"What is told of the file is not what a DAG is made of: {talk.refused}"
    if gone.status == EXIT_CUT_OFF:
        return "The file has closed descriptors that are not its own while it was imported; take that out."
    if gone.status < 0:
        hint = "; perhaps the machine has run out of memory" if -gone.status == signal.SIGKILL else ""
        return f"The file was ended by {signal.Signals(-gone.status).name} while it was imported{hint}."
    return f"The file has ended its process with exit code {gone.status} while it was imported; take that out."
