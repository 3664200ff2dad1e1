"""A process that gives itself the server of a folder until its input ends: a program, so that a test can kill it.

It says in one line what it has got. It needs nothing of the tests, so that another user's Python can run it.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bide import embedded
from bide.errors import EmbeddedServerError


@dataclass(frozen=True)
class Owner:
    """The process, as the one who started it sees it."""

    process: subprocess.Popen[str]

    def answer(self) -> tuple[str, str]:
        """Wait for what it says: `started` or `found` and the address, or `refused` and why; nothing if it died."""
        assert self.process.stdout
        word, _, rest = self.process.stdout.readline().strip().partition(" ")
        return word, rest

    def leave(self) -> None:
        """Let it end in order."""
        assert self.process.stdin
        self.process.stdin.close()
        assert self.process.wait(60) == 0


@contextmanager
def owner(folder: Path, *, python: str = sys.executable, **how: Any) -> Iterator[Owner]:
    """Start such a process; at the end it is killed if it still runs."""
    process = subprocess.Popen(
        [python, __file__, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how
    )
    with process:
        try:
            yield Owner(process)
        finally:
            process.kill()


def main(folder: str) -> None:
    """Be such a process."""
    try:
        with embedded.running(Path(folder)) as server:
            print("started" if server.owned else "found", server.url, flush=True)
            sys.stdin.read()
    except EmbeddedServerError as error:
        print("refused", error, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
