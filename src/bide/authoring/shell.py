"""Running a command in bash, in a process group of its own, so that all of it can be stopped together."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress


class Shell:
    """One command. Its output is handed on line by line while it runs."""

    def __init__(self, grace_sec: float = 5) -> None:
        self._grace_sec = grace_sec
        self._process: subprocess.Popen[bytes] | None = None

    def run(
        self, command: str, env: Mapping[str, str], cwd: str, encoding: str, heard: Callable[[str], None]
    ) -> tuple[int, str]:
        """Run the command to its end. Returns its exit code and its last line."""
        last = ""
        # A group of its own, but within the session of the task's child: whoever ends that finds this too.
        with subprocess.Popen(
            ["bash", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=dict(env),
            cwd=cwd,
            process_group=0,
        ) as self._process:
            try:
                for raw in self._process.stdout or ():
                    last = raw.decode(encoding, errors="backslashreplace").rstrip("\r\n")
                    heard(last)
                code = self._process.wait()
            except BaseException:
                self.stop()
                raise
        return code, last

    def stop(self) -> None:
        """Ask the whole group to end, and end it by force if it does not."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        self._signal(process, signal.SIGTERM)
        try:
            process.wait(self._grace_sec)
        except subprocess.TimeoutExpired:
            self._signal(process, signal.SIGKILL)
            process.wait()

    def _signal(self, process: subprocess.Popen[bytes], number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def environment(env: Mapping[str, str] | None, append: bool) -> dict[str, str]:
    """Return the environment of a command: that of the task, what its author wants instead, or both together."""
    if env is None:
        return dict(os.environ)
    return {**os.environ, **env} if append else dict(env)
