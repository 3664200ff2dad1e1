"""The child's end of a socket to its service: messages, and the descriptors that come with them. It blocks."""

import os
import socket
from collections import deque
from typing import Any

from bide.model.framing import Frames, framed

READ = 65_536
MOST_DESCRIPTORS = 64
"""That come with one piece of the stream: a service sends two at a time."""


class Channel:
    """Sends messages and takes them in; `descriptors` came along and belong to nobody yet, in their order."""

    def __init__(self, sock: socket.socket, kind: Any) -> None:
        """`kind` is the union of the messages that may come."""
        self._socket = sock
        self._frames = Frames(kind)
        self._ready: deque[Any] = deque()
        self.descriptors: deque[int] = deque()
        # What a user's code does to descriptors is its affair, but nothing of ours may be written into its files.
        self._identity = _identity(sock)

    def send(self, message: object) -> None:
        """Send a message; waits while the service does not read."""
        self.check()
        self._socket.sendall(framed(message))

    def receive(self) -> Any | None:
        """Return the next message, or None when the service has closed its end or is gone."""
        self.check()
        while not self._ready:
            if not self.pull():
                return None
        return self._ready.popleft()

    def taken_in(self) -> Any | None:
        """Return the next message that is here already, or None."""
        return self._ready.popleft() if self._ready else None

    def pull(self) -> bool:
        """Take in what has come, and wait for something if there is nothing; false at the end."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self._socket, READ, MOST_DESCRIPTORS)
        except ConnectionError:
            return False
        self.descriptors.extend(descriptors)
        self._ready.extend(self._frames.feed(data))
        return bool(data)

    def fileno(self) -> int:
        """The descriptor, for those who wait for several."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def check(self) -> None:
        """Raise if the descriptor is no longer the socket that it was: somebody has closed it."""
        if _identity(self._socket) != self._identity:
            raise OSError("the descriptor of the socket to the worker was closed")


def _identity(sock: socket.socket) -> tuple[int, int]:
    found = os.fstat(sock.fileno())
    return found.st_dev, found.st_ino
