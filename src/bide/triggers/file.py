"""A trigger for files."""

from __future__ import annotations

import asyncio
import glob
import os
from pathlib import Path

from bide.authoring import PollingTrigger


class FileTrigger(PollingTrigger):
    """Waits until a file is there, or a folder that has some file in it, and yields its path.

    The path may be a pattern; with `recursive`, ** in it means any folders. The folder has to be reachable from where
    triggers run. It looks in a thread: folders on a network may keep whoever asks waiting.
    """

    shared = True

    def __init__(
        self,
        filepath: str,
        *,
        recursive: bool = False,
        poke_interval: float = 5,
        end_from_trigger: bool = False,
    ) -> None:
        super().__init__()
        self.filepath = filepath
        self.recursive = recursive
        self.poke_interval = poke_interval
        self.end_from_trigger = end_from_trigger

    async def look(self) -> str | None:
        """Look for the file."""
        return await asyncio.to_thread(first_file, self.filepath, self.recursive)


def first_file(pattern: str, recursive: bool = False) -> str | None:
    """Find a file, or a folder that has some file in it."""
    return next((found for found in glob.iglob(pattern, recursive=recursive) if _is_there(Path(found))), None)


def _is_there(path: Path) -> bool:
    return any(files for _, _, files in os.walk(path)) if path.is_dir() else path.is_file()
