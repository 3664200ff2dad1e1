"""A trigger that asks a command."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from contextlib import suppress

from bide.authoring import PollingTrigger
from bide.exceptions import TaskError

MOST_OUTPUT = 65_536
"""Bytes that are kept of what one look has printed: the last ones."""


class CommandTrigger(PollingTrigger):
    """Runs a command in Bash until it ends with exit code 0, and yields the last line that it has printed.

    With `retry_exit_code` only that exit code means "not there yet", and every other one fails the task.
    """

    def __init__(
        self,
        bash_command: str,
        *,
        env: dict[str, str] | None = None,
        retry_exit_code: int | None = None,
        poke_interval: float = 60,
        end_from_trigger: bool = False,
    ) -> None:
        super().__init__()
        self.bash_command = bash_command
        self.env = env
        self.retry_exit_code = retry_exit_code
        self.poke_interval = poke_interval
        self.end_from_trigger = end_from_trigger

    async def look(self) -> str | None:
        """Run it once."""
        # A file and not a pipe: of a pipe nobody knows who else holds it open.
        with tempfile.TemporaryFile() as output:
            process = await asyncio.create_subprocess_exec(
                "bash",
                "-c",
                self.bash_command,
                env=None if self.env is None else {**os.environ, **self.env},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = await process.wait()
            finally:
                # Also what it has left running: nobody else would end it.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            output.seek(-min(output.seek(0, os.SEEK_END), MOST_OUTPUT), os.SEEK_END)
            lines = output.read().decode(errors="replace").splitlines()
        for line in lines:
            self.log.info(line)
        if code and self.retry_exit_code is not None and code != self.retry_exit_code:
            raise TaskError(f"The command has ended with exit code {code}.")
        return None if code else (lines[-1] if lines else "")
