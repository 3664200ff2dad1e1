"""One end of a socket between a service and a child, on an event loop: nobody waits, and what comes is told."""

import asyncio
import logging
import select
import socket
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from bide.model.framing import FrameError, Frames, framed

log = logging.getLogger(__name__)

READ = 262_144


class Channel:
    """Sends messages, and calls `heard` for each that comes and `closed` once there will be no more.

    What the other end sends is a user's word: what is no message closes the channel, and `closed` is told why.
    """

    def __init__(
        self, sock: socket.socket, kind: Any, heard: Callable[[Any], None], closed: Callable[[str], None]
    ) -> None:
        """`kind` is the union of the messages that may come."""
        self._loop = asyncio.get_running_loop()
        self._socket = sock
        self._frames = Frames(kind)
        self._heard = heard
        self._closed = closed
        self._unsent: deque[tuple[bytes, Sequence[int]]] = deque()
        self.is_open = True
        sock.setblocking(False)
        self._loop.add_reader(sock, self.read)

    def send(self, message: object, descriptors: Sequence[int] = ()) -> None:
        """Send a message and descriptors with it; these may be closed at once. To a closed channel nothing is sent."""
        if not self.is_open:
            return
        frame = framed(message)
        if self._unsent:
            self._keep(frame, descriptors)
            return
        sent = self._try(frame, descriptors)
        if sent < len(frame):
            self._keep(frame[sent:], () if sent else descriptors)
            self._loop.add_writer(self._socket, self._write)

    def read(self) -> None:
        """Hear what has come."""
        self._read_once()

    def wait(self) -> None:
        """Block until something has come, and hear it: for those who have nothing else to do meanwhile."""
        select.select([self._socket], [], [])
        self._read_once()

    def drain(self) -> None:
        """Hear everything that has come so far: whoever sent it is known to have ended."""
        while self.is_open and self._read_once():
            pass

    def close(self) -> None:
        """Close this end; `closed` is not called."""
        if self.is_open:
            self.is_open = False
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket.close()
            for _, descriptors in self._unsent:
                _close(descriptors)

    def _read_once(self) -> bool:
        try:
            data = self._socket.recv(READ)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            data = b""
        if not data:
            self._lost("")
            return False
        try:
            for message in self._frames.feed(data):
                self._hear(message)
                if not self.is_open:
                    return False
        except FrameError as error:
            self._lost(str(error))
            return False
        return True

    def _hear(self, message: object) -> None:
        try:
            self._heard(message)
        except Exception:
            # What is wrong with one message must not keep the next ones from being heard.
            log.exception("A message was not dealt with: %.200r", message)

    def _lost(self, why: str) -> None:
        if self.is_open:
            self.close()
            self._closed(why)

    def _keep(self, rest: bytes, descriptors: Sequence[int]) -> None:
        # They are sent later, when whoever gave them has closed its own.
        self._unsent.append((rest, [socket.dup(number) for number in descriptors]))

    def _try(self, data: bytes, descriptors: Sequence[int]) -> int:
        try:
            if descriptors:
                return socket.send_fds(self._socket, [data], list(descriptors))
            return self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            # That the other end is gone is found by reading.
            return len(data)

    def _write(self) -> None:
        while self._unsent:
            data, descriptors = self._unsent.popleft()
            sent = self._try(data, descriptors)
            if sent:
                _close(descriptors)
            if sent < len(data):
                self._unsent.appendleft((data[sent:], () if sent else descriptors))
                return
        self._loop.remove_writer(self._socket)


def _close(descriptors: Sequence[int]) -> None:
    for number in descriptors:
        socket.close(number)
