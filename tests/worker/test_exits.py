"""How a process ended is said in words, and memory that ran out is told from other deaths."""

from pathlib import Path

import pytest

from bide.hosting.exits import OUT_OF_MEMORY, OutOfMemory, exit_of, sentence
from bide.model.messages import Gone


class Machine:
    """The kernel's files, on which a test writes how many it has killed."""

    def __init__(self, folder: Path) -> None:
        self.proc, self.cgroups = folder / "proc", folder / "cgroup"
        (self.proc / "self").mkdir(parents=True)
        (self.cgroups / "mine").mkdir(parents=True)
        (self.proc / "self" / "cgroup").write_text("4:cpu:/\n0::/mine\n")
        self.kills(0, 0)

    def kills(self, machine: int, group: int) -> None:
        (self.proc / "vmstat").write_text(f"nr_free_pages 1\noom_kill {machine}\n")
        (self.cgroups / "mine" / "memory.events").write_text(f"oom 5\noom_kill {group}\n")


def test_each_kill_for_memory_explains_one_death(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.kills(3, 1)
    memory = OutOfMemory(machine.proc, machine.cgroups)
    assert not memory.explains_one()
    machine.kills(5, 3)
    assert [memory.explains_one() for _ in range(3)] == [True, True, False]
    machine.kills(5, 4)
    assert [memory.explains_one() for _ in range(2)] == [True, False]


def test_without_the_kernels_files_no_death_is_explained(tmp_path: Path) -> None:
    assert not OutOfMemory(tmp_path, tmp_path).explains_one()


def test_this_machine_counts() -> None:
    assert not OutOfMemory().explains_one()


@pytest.mark.parametrize(
    ("gone", "killed", "limit_mb", "exit", "said"),
    [
        (Gone(1, 0), 0, 0, "exit code 0", "ended with exit code 0 before the task did"),
        (Gone(1, -15), 0, 0, "signal SIGTERM", "was killed by SIGTERM."),
        (Gone(1, -9, 2**20), 0, 0, "signal SIGKILL", "was killed by SIGKILL; it had used 1,024 MB of memory."),
        (Gone(1, -9, 2**20), 1, 0, OUT_OF_MEMORY, "ran out of memory and was killed; it had used 1,024 MB"),
        (Gone(1, -6, 95 * 1024), 0, 100, OUT_OF_MEMORY, "ran out of memory"),
        (Gone(1, -6, 50 * 1024), 0, 100, "signal SIGABRT", "was killed by SIGABRT"),
        (Gone(1, -50), 0, 0, "signal 50", "was killed by 50"),
        (Gone(1, 113), 0, 0, "cut off", "closed the socket to the worker"),
        (Gone(1, 1, why="no process could be forked: no memory"), 0, 0, "no process could be forked: no memory", "no"),
    ],
)
def test_an_end_in_words(tmp_path: Path, gone: Gone, killed: int, limit_mb: int, exit: str, said: str) -> None:
    machine = Machine(tmp_path)
    memory = OutOfMemory(machine.proc, machine.cgroups)
    machine.kills(killed, 0)
    assert exit_of(gone, memory, limit_mb) == exit
    assert said in sentence(exit, gone.peak_memory_kb)
