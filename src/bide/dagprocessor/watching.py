"""Hearing of saved files at once. What is missed is found by the next look; so this only says: look."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from watchfiles import awatch

log = logging.getLogger(__name__)
# It counts the changes, in the log of whoever is told here what they were.
logging.getLogger("watchfiles").setLevel(logging.WARNING)

# Milliseconds: how long it is quiet before changes are told, and how long they are gathered at most.
QUIET_MS, GATHER_MS = 20, 200
LOOK_EVERY_SEC = 0.5


class Watcher:
    """Watches the folder and everything below it, also where it is reached by a link that is moved."""

    def __init__(self, root: Path, changed: Callable[[], None]) -> None:
        self._root = root
        self._changed = changed

    async def watch(self) -> None:
        """Call `changed` when something has changed; returns when there is nothing to watch any more."""
        place = await asyncio.to_thread(self._place)
        if place is None:
            return
        # What changed before there was somebody to see it.
        self._changed()
        try:
            async for _ in awatch(place, step=QUIET_MS, debounce=GATHER_MS, ignore_permission_denied=True):
                self._changed()
                if await asyncio.to_thread(self._place) != place:
                    return
        except OSError as error:
            log.warning(
                "The system does not tell of changes in %s (%s), so Bide looks for them twice a second. "
                "On Linux, raising fs.inotify.max_user_watches helps.",
                place,
                error,
            )
            while True:
                await asyncio.sleep(LOOK_EVERY_SEC)
                self._changed()

    def _place(self) -> Path | None:
        try:
            return self._root.resolve(strict=True)
        except OSError:
            return None
