"""Warm processes are started when needed, shared, and ended when nobody needs them; nothing piles up."""

import os
import signal
from pathlib import Path

from bide.children.warm import children_of
from tests.process.eventually import eventually
from tests.worker.processes import all_gone, parent_of
from tests.worker.stage import Stage

TASKS = """
    import os

    def parent(leg, port):
        return os.getppid()

    another = parent
"""


def warm_processes() -> list[int]:
    """Return this process's warm processes that are alive."""
    return [
        pid for pid in children_of(os.getpid()) if b"bide.children.warm" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


async def test_legs_of_one_state_of_a_file_share_a_process_and_another_state_has_its_own(stage: Stage) -> None:
    async with stage.working():
        await stage.launch(TASKS, "parent", "another")
        await stage.ends("parent", "another")
        first = {await stage.xcom("parent"), await stage.xcom("another")}
        await stage.launch(TASKS, "parent")
        await stage.ends("parent")
        first.add(await stage.xcom("parent"))
        await stage.launch(TASKS + "\n    # changed\n", "parent")
        await stage.ends("parent")
        assert len(first) == 1
        assert await stage.xcom("parent") not in first


async def test_the_first_leg_of_a_file_finds_a_process_that_was_there_before(stage: Stage) -> None:
    async with stage.working():
        await eventually(lambda: len(warm_processes()) == 1)
        (spare,) = warm_processes()
        await stage.launch(TASKS, "parent")
        await stage.ends("parent")
        assert await stage.xcom("parent") == str(spare)
        # And the next file will find one too.
        await eventually(lambda: len(warm_processes()) == 2)


async def test_a_spare_process_that_was_killed_is_not_missed(stage: Stage) -> None:
    async with stage.working():
        await eventually(lambda: len(warm_processes()) == 1)
        (spare,) = warm_processes()
        os.kill(spare, signal.SIGKILL)
        await eventually(lambda: not warm_processes())
        await stage.launch(TASKS, "parent")
        assert await stage.ends("parent") == {"parent": "success"}


async def test_a_process_that_nobody_needs_ends(stage: Stage) -> None:
    async with stage.working(unused_sec=0.1, legs_per_child=10):
        await stage.launch(TASKS + "\n    def child(leg, port): return os.getpid()\n", "parent", "child")
        await stage.ends("parent", "child")
        pids = [int(str(await stage.xcom(name))) for name in ("parent", "child")]
        await eventually(lambda: all_gone(*pids))


async def test_only_so_many_are_kept_unused(stage: Stage) -> None:
    async with stage.working(most_unused=1):
        pids = []
        for number in range(3):
            await stage.launch(TASKS + f"\n    # {number}\n", "parent")
            await stage.ends("parent")
            pids.append(int(str(await stage.xcom("parent"))))
        await eventually(lambda: all_gone(*pids[:2]))
        assert not all_gone(pids[2])


async def test_descriptors_stay_as_many_as_they_were(stage: Stage) -> None:
    names = [f"task_{number}" for number in range(30)]
    source = "import os\n" + "".join(
        f"def {name}(leg, port):\n    print('x')\n    {'os._exit(1)' if number % 3 == 0 else 'pass'}\n"
        for number, name in enumerate(names)
    )
    async with stage.working():

        def open_now() -> int:
            return len(list(Path("/proc/self/fd").iterdir()))

        await stage.launch(source, *names)
        await stage.ends(*names)
        before = open_now()
        await stage.launch(source, *names)
        await stage.ends(*names)
        # A connection to the database may have come, but nothing for each of thirty tasks.
        await eventually(lambda: open_now() <= before + 5)


async def test_nothing_of_a_worker_is_left_when_it_has_stopped(stage: Stage) -> None:
    async with stage.working(legs_per_child=5):
        await stage.launch(TASKS + "\n    def child(leg, port): return os.getpid()\n", "child")
        await stage.ends("child")
        child = int(str(await stage.xcom("child")))
        warm = parent_of(child)
        assert parent_of(warm) == os.getpid()
    assert all_gone(child, warm)
