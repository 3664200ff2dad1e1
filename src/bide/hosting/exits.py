"""How a process ended, in words for the person whose task it was."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

from bide.model.messages import EXIT_CUT_OFF, Gone

OUT_OF_MEMORY = "out of memory"
NEAR_LIMIT = 0.9
CGROUPS = Path("/sys/fs/cgroup")
PROC = Path("/proc")


class OutOfMemory:
    """Notices that the kernel has killed somebody for memory: that of the machine, or of the control group."""

    def __init__(self, proc: Path = PROC, cgroups: Path = CGROUPS) -> None:
        self._files = [proc / "vmstat", *_own_groups(proc, cgroups)]
        self._seen = self._counts()
        self._unexplained = 0

    def explains_one(self) -> bool:
        """Say whether one more process was killed so than was asked about before."""
        now = self._counts()
        # The counts speak of the same deaths.
        self._unexplained += max((now[file] - self._seen.get(file, 0) for file in now), default=0)
        self._seen = now
        if self._unexplained == 0:
            return False
        self._unexplained -= 1
        return True

    def _counts(self) -> dict[Path, int]:
        return {file: count for file in self._files if (count := _oom_kills(file)) is not None}


def exit_of(gone: Gone, memory: OutOfMemory, limit_mb: int) -> str:
    """Name the end of a process in a few words, as it stands in the record of its leg."""
    if gone.why:
        return gone.why
    near_limit = bool(limit_mb) and gone.peak_memory_kb >= NEAR_LIMIT * limit_mb * 1024
    if gone.status >= 0:
        return "cut off" if gone.status == EXIT_CUT_OFF else f"exit code {gone.status}"
    if near_limit or (gone.status == -signal.SIGKILL and memory.explains_one()):
        return OUT_OF_MEMORY
    return f"signal {signal_name(-gone.status)}"


def sentence(exit: str, peak_memory_kb: int) -> str:
    """Say it to the author of the task."""
    used = f"; it had used {peak_memory_kb // 1024:,} MB of memory" if peak_memory_kb else ""
    if exit == OUT_OF_MEMORY:
        return f"The process of the task ran out of memory and was killed{used}."
    if exit == "cut off":
        return "The task's code closed the socket to the worker, so nobody knows how it ended. Leave it open."
    if exit.startswith("signal "):
        return f"The process of the task was killed by {exit.removeprefix('signal ')}{used}."
    if exit.startswith("exit code "):
        return f"The process of the task ended with {exit} before the task did. Raise an exception to end a task."
    return f"The task was stopped: {exit}."


def signal_name(number: int) -> str:
    """Name a signal."""
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return str(number)


def _own_groups(proc: Path, cgroups: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for line in (proc / "self" / "cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                yield cgroups / path.lstrip("/") / "memory.events"
            elif "memory" in controllers.split(","):
                yield cgroups / "memory" / path.lstrip("/") / "memory.oom_control"


def _oom_kills(file: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return None
