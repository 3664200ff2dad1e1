"""Which processes are alive, as the kernel says."""

from pathlib import Path


def is_alive(pid: int) -> bool:
    """Say whether a process is there and has not ended."""
    try:
        return _stat(pid)[0] not in "ZX"
    except OSError:
        return False


def all_gone(*pids: int) -> bool:
    """Say whether none of them is left."""
    return not any(is_alive(pid) for pid in pids)


def parent_of(pid: int) -> int:
    """Return the parent of a process."""
    return int(_stat(pid)[1])


def _stat(pid: int) -> list[str]:
    # The name of the program stands in brackets and may hold anything.
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
