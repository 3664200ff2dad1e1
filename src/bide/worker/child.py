"""The worker's view of one child: its socket, the pipe that its output comes through, and the leg that it runs."""

import asyncio
import os
import socket
import time
from typing import TYPE_CHECKING, Protocol

from bide.channel import Channel
from bide.hosting.file_reader import FileReader
from bide.model.messages import Ended, FromChild, Gone
from bide.model.questions import Ask, ReadByFile
from bide.worker.leg import Work

if TYPE_CHECKING:
    from bide.worker.warm import WarmProcess

READ = 65_536
PIPE_HOLDS = 1_048_576
"""More bytes than a pipe can hold, however somebody has set it: what came after them was written later."""


class Desk(Protocol):
    """Whom children and warm processes report to."""

    def ended(self, child: "Child", ended: Ended) -> None:
        """Its leg is over."""

    def asked(self, child: "Child", question: Ask) -> None:
        """Its leg wants to know something."""

    def gone(self, child: "Child", gone: Gone) -> None:
        """Its process has ended."""

    def misbehaves(self, child: "Child", why: str) -> None:
        """It said what no child says."""

    def log_full(self) -> None:
        """Its log is not read on before it is stored."""

    def reader_of(self, fileloc: str) -> FileReader:
        """Somebody is about to import a DAG file."""

    def asked_by_file(self, warm: "WarmProcess", question: ReadByFile) -> None:
        """The file that it imports wants to know something."""

    def cannot_run(self, leg: Work, error: str, traceback: str) -> None:
        """There is no process for this leg."""


class Child:
    """A child process. `leaving_since` is set once it has nothing more to do and should end by itself."""

    def __init__(self, number: int, legs: int, warm: "WarmProcess", desk: Desk) -> None:
        """Make its socket and its pipe; `their_ends` are to be sent to it and closed."""
        self.number = number
        self.warm = warm
        self.pid: int | None = None
        self.leg: Work | None = None
        self.legs_left = legs
        self.is_asking = False
        self.leaving_since: float | None = None
        self.why_killed: str | None = None
        self._desk = desk
        self._loop = asyncio.get_running_loop()
        # Set when nobody holds the other end any more.
        self.cut = self._loop.create_future()
        ours, theirs = socket.socketpair()
        self._log, their_log = os.pipe()
        os.set_blocking(self._log, False)
        self.their_ends = (theirs.detach(), their_log)
        self.channel = Channel(ours, FromChild, self._heard, self._closed)
        self._reads_log = False
        self.read_log_again()

    def run(self, leg: Work) -> None:
        """Give it a leg."""
        self.leg, leg.child = leg, self
        self.legs_left -= 1
        self.channel.send(leg.order())

    def close_their_ends(self) -> None:
        """The other side has them now."""
        for descriptor in self.their_ends:
            os.close(descriptor)

    def read_rest(self) -> None:
        """Take in what was written before this moment."""
        read = 0
        while self._log >= 0 and read < PIPE_HOLDS and (size := self._read_once()):
            read += size

    def read_log_again(self) -> None:
        """Read the pipe: there is room again."""
        if not self._reads_log and self._log >= 0:
            self._loop.add_reader(self._log, self._read_log)
            self._reads_log = True

    def leaves(self) -> None:
        """It is to end by itself now."""
        self.leaving_since = time.monotonic()
        self.channel.close()
        self._closed("")

    def close(self) -> None:
        """Let go of its socket and its pipe."""
        self.channel.close()
        self._pause_log()
        if self._log >= 0:
            os.close(self._log)
            self._log = -1

    def _heard(self, message: Ended | Ask) -> None:
        if isinstance(message, Ended):
            self._desk.ended(self, message)
        else:
            self._desk.asked(self, message)

    def _closed(self, why: str) -> None:
        if not self.cut.done():
            self.cut.set_result(None)
        if why:
            self._desk.misbehaves(self, why)

    def _read_log(self) -> None:
        self._read_once()
        if self.leg is not None and self.leg.log.is_full:
            self._pause_log()
            self._desk.log_full()

    def _read_once(self) -> int:
        try:
            data = os.read(self._log, READ)
        except (BlockingIOError, InterruptedError):
            return 0
        if self.leg is not None and data:
            self.leg.log.write(data)
        if not data:
            self._pause_log()
            os.close(self._log)
            self._log = -1
        return len(data)

    def _pause_log(self) -> None:
        if self._reads_log:
            self._loop.remove_reader(self._log)
            self._reads_log = False
