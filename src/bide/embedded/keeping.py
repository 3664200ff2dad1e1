"""Keeping the server at hand while a command runs for long: when it has ended, it is started again.

Somebody may kill it, the system may for want of memory, and where it was found running, whoever started it may leave.
A thread looks at the lock of the folder, which is free exactly when there is no server. It lives as long as the servers
that it starts, because the kernel ends these with the thread that has started them.
"""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread

from bide.embedded import running, taken
from bide.embedded.folder import Folder
from bide.errors import EmbeddedServerError

log = logging.getLogger(__name__)

LOOK_EVERY_SEC = 0.5
AGAIN_AFTER_SEC = 5.0


@contextmanager
def kept(folder: Path) -> Iterator[None]:
    """Start the server of a folder again whenever there is none, for as long as the block runs."""
    over = Event()
    thread = Thread(target=keep, args=(folder, Folder(folder.absolute()).url(), over), name="database keeper")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def keep(folder: Path, url: str, over: Event) -> None:
    """Look again and again; what was started is stopped at the end."""
    with ExitStack() as started:
        pause = LOOK_EVERY_SEC
        while not over.wait(pause):
            pause = LOOK_EVERY_SEC
            try:
                if is_alive(folder):
                    continue
                log.warning("The database server has ended, so it is started again.")
                server = started.enter_context(running(folder))
            except (EmbeddedServerError, OSError) as error:
                log.error("There is no database server: %s", error)
                pause = AGAIN_AFTER_SEC
                continue
            if server.url != url:
                log.error("The database server has another port now, as its old one was taken. Stop Bide and start it.")


def is_alive(folder: Path) -> bool:
    """Say whether a server of a folder is there, or is being started or stopped."""
    with Folder(folder.absolute()).open_lock() as lock:
        return not taken(lock.fileno())
