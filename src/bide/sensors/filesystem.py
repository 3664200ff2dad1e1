"""A sensor for files."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack

from bide.authoring import BaseHook, BaseSensorOperator, Context, SensorArguments


class FileSensor(BaseSensorOperator):
    """Waits until a file is there, or a folder that has some file in it. The path may be a pattern.

    A relative path starts from the `path` in the extra of the connection. With `recursive`, ** means any folders.
    """

    template_fields: Collection[str] = ("filepath",)
    ui_color = "#91818a"

    def __init__(
        self,
        *,
        filepath: str | os.PathLike[str],
        fs_conn_id: str = "fs_default",
        recursive: bool = False,
        **kwargs: Unpack[SensorArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.filepath = filepath if not isinstance(filepath, os.PathLike) else os.fspath(filepath)
        self.fs_conn_id = fs_conn_id
        self.recursive = recursive

    @property
    def path(self) -> str:
        """The whole path or pattern."""
        path = os.fspath(self.filepath)
        if os.path.isabs(path):
            return path
        return os.path.join(BaseHook.get_connection(self.fs_conn_id).extra_dejson.get("path", "/"), path)

    def poke(self, context: Context) -> bool:
        """Look for the file."""
        path = self.path
        self.log.info("Looking for %s", path)
        return any(self._is_there(Path(found)) for found in glob.iglob(path, recursive=self.recursive))

    def _is_there(self, path: Path) -> bool:
        if path.is_dir():
            return any(files for _, _, files in os.walk(path))
        if not path.is_file():
            return False
        self.log.info("Found %s, last changed %s", path, datetime.fromtimestamp(path.stat().st_mtime, UTC))
        return True
