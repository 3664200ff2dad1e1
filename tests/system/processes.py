"""What the kernel says about all processes of the machine."""

from pathlib import Path

from tests.worker.processes import is_alive


def marked(mark: str) -> set[int]:
    """Return the living processes in whose environment this stands; those that hide theirs only root sees."""
    wanted = mark.encode()
    return {pid for pid in everybody() if wanted in environment_of(pid) and is_alive(pid)}


def everybody() -> list[int]:
    """Return all processes."""
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]


def environment_of(pid: int) -> list[bytes]:
    """Return what a process was given; nothing if it is gone or hides it."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def state_of(pid: int) -> str:
    """Return the letter that the kernel has for what a process does."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
