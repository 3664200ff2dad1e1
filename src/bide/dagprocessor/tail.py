"""The end of what a child prints. All of it is read, so that nobody waits for a full pipe, and little is kept."""

import asyncio
import contextlib
import fcntl
import os

KEPT = 8192
"""Bytes."""
READ = 2**20
AT_ONCE = 2**20
"""Bytes that are read as fast as they come; whoever prints more is read in turns with everybody else's business."""
TURN_SEC = 0.02

_SET_PIPE_SIZE = getattr(fcntl, "F_SETPIPE_SZ", None)


class Tail:
    """Reads a pipe to its end, or until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._reads, self.writes = os.pipe()
        os.set_blocking(self._reads, False)
        self._kept = b""
        self._total = 0
        self._turn: asyncio.TimerHandle | None = None
        self._is_open = True
        if _SET_PIPE_SIZE is not None:
            # It is refused to users with many pipes; a small one is slower, nothing else.
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._reads, _SET_PIPE_SIZE, READ)
        self._loop.add_reader(self._reads, self._read)

    def text(self) -> str:
        """Return the last lines that were printed."""
        self._read()
        text = self._kept.decode(errors="replace")
        return f"…{text.partition(chr(10))[2]}" if self._total > KEPT else text

    def close(self) -> None:
        """Read no more."""
        if self._is_open:
            self._is_open = False
            if self._turn:
                self._turn.cancel()
            self._loop.remove_reader(self._reads)
            os.close(self._reads)

    def close_other_end(self) -> None:
        """Give up the end that was handed to the child."""
        os.close(self.writes)

    def _read(self) -> None:
        self._turn = None
        if not self._is_open:
            return
        try:
            data = os.read(self._reads, READ)
        except BlockingIOError:
            data = None
        if data == b"":
            self.close()
            return
        if data:
            self._total += len(data)
            self._kept = (self._kept + data)[-KEPT:]
        if self._total > AT_ONCE:
            self._loop.remove_reader(self._reads)
            self._turn = self._loop.call_later(TURN_SEC, self._read)
