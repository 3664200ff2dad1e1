"""A sensor for files."""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Unpack

from bide.authoring import BaseHook, BaseSensorOperator, BaseTrigger, Context, SensorArguments
from bide.triggers.file import FileTrigger, first_file


class FileSensor(BaseSensorOperator):
    """Waits until a file is there, or a folder that has some file in it. The path may be a pattern.

    A relative path starts from the `path` in the extra of the connection. With `recursive`, ** means any folders.
    """

    template_fields: Collection[str] = ("filepath",)
    ui_color = "#91818a"
    has_both_modes = True

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
        found = first_file(path, self.recursive)
        if found is not None:
            self.log.info("Found %s, last changed %s", found, datetime.fromtimestamp(os.stat(found).st_mtime, UTC))
        return found is not None

    def trigger(self, context: Context) -> BaseTrigger:
        """Look where triggers run: the folder must be reachable from there."""
        return FileTrigger(
            self.path, recursive=self.recursive, poke_interval=self.poke_interval, end_from_trigger=self.ends_in_trigger
        )
