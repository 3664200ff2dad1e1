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
    return [pid for pid in found if int(status_of(pid).get("PPid", found[0])) not in found]


def users_of(folder: Path) -> set[int]:
    """Return the users that a folder's server runs as."""
    return {int(status["Uid"].split()[0]) for status in map(status_of, processes_of(folder)) if status}


def status_of(pid: int) -> dict[str, str]:
    """Return what the system says of a process; nothing if it has ended, as PostgreSQL's helpers do at any time."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def capabilities(pid: int) -> int:
    """Return what of root's rights a process has."""
    return int(status_of(pid)["CapEff"], 16)


def cut_power(folder: Path) -> None:
    """Kill all processes of a server at once, as far as that can be done."""
    for pid in processes_of(folder):
        os.kill(pid, signal.SIGSTOP)
    for pid in processes_of(folder):
        os.kill(pid, signal.SIGKILL)


def postmaster(folder: Path) -> int:
    """Return the pid of a running server."""
    return int((folder / "data" / "postmaster.pid").read_text().split()[0])
