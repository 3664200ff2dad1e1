"""Which processes of a server are alive. PostgreSQL's processes all stand in its data folder."""

import os
import signal
import sys
from pathlib import Path

LINUX = sys.platform == "linux"


def processes_of(folder: Path) -> list[int]:
    """Return the pids of a folder's server; on systems without /proc none are seen."""
    here = str(folder / "data")
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            # A process that has ended and was not yet waited for has no such link.
            if os.readlink(entry / "cwd") == here:
                found.append(int(entry.name))
        except OSError:
            continue
    return sorted(found)


def postmasters(folder: Path) -> list[int]:
    """Return those of a folder's processes that no other one of them has started: one for each server."""
    found = processes_of(folder)
    return [pid for pid in found if parent(pid) not in found]


def parent(pid: int) -> int:
    """Return who started a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def users_of(folder: Path) -> set[int]:
    """Return the users that a folder's server runs as."""
    return {Path(f"/proc/{pid}").stat().st_uid for pid in processes_of(folder)}


def capabilities(pid: int) -> int:
    """Return what of root's rights a process has."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("CapEff:")[2].split()[0], 16)


def cut_power(folder: Path) -> None:
    """Kill all processes of a server at once, as far as that can be done."""
    for pid in processes_of(folder):
        os.kill(pid, signal.SIGSTOP)
    for pid in processes_of(folder):
        os.kill(pid, signal.SIGKILL)


def postmaster(folder: Path) -> int:
    """Return the pid of a running server."""
    return int((folder / "data" / "postmaster.pid").read_text().split()[0])
