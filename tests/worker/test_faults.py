"""Whatever a task's code does to its process, the leg's outcome is right and nobody else is hit."""

import os
import signal

from tests.process.eventually import eventually
from tests.worker.processes import all_gone, parent_of
from tests.worker.stage import Stage, retried
from tests.worker.test_stopping import Told
from tests.worker.test_stopping import source as stubborn

HOSTILE = """
    import ctypes, json, os, signal, socket, struct, sys
    from threading import Event, Thread

    def leaves(leg, port):
        os._exit(0)

    def leaves_with_code(leg, port):
        print("about to leave")
        os._exit(7)

    def crashes(leg, port):
        ctypes.string_at(0)

    def is_killed(leg, port):
        os.kill(os.getpid(), signal.SIGKILL)

    def closes_all(leg, port):
        os.closerange(0, 1000)
        return "done"

    def closes_and_reuses(leg, port):
        os.closerange(3, 1000)
        mine = [open("/dev/zero", "r+b", buffering=0) for _ in range(20)]
        return "done"

    def closes_output(leg, port):
        os.close(1)
        os.close(2)
        return "done"

    def forks(leg, port):
        # Both come back from here, and both say how the leg ended.
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
        return "parent" if pid else "child"

    def forks_and_raises(leg, port):
        pid = os.fork()
        if not pid:
            raise RuntimeError("in the forked one")
        os.waitpid(pid, 0)
        return "parent"

    def threads(leg, port):
        Thread(target=Event().wait).start()
        return "done"

    def writes_into_the_socket(leg, port):
        for number in range(3, 100):
            try:
                socket.socket(fileno=os.dup(number)).send(struct.pack(">I", 5) + b"hello")
            except OSError:
                pass
        Event().wait()

    def announces_a_gigabyte(leg, port):
        for number in range(3, 100):
            try:
                socket.socket(fileno=os.dup(number)).send(struct.pack(">I", 2**30))
            except OSError:
                pass
        Event().wait()

    def returns_too_much(leg, port):
        return "x" * (65 * 2**20)

    def eats(leg, port):
        return len(bytearray(4 * 2**30))

    def is_good(leg, port):
        return "done"
"""
WHYS = {
    "leaves": "ended with exit code 0 before the task did",
    "leaves_with_code": "ended with exit code 7 before the task did",
    "crashes": "killed by SIGSEGV",
    "is_killed": "killed by SIGKILL",
    "closes_all": "closed the socket to the worker",
    "closes_and_reuses": "closed the socket to the worker",
    "writes_into_the_socket": "wrote into the socket to the worker",
    "announces_a_gigabyte": "wrote into the socket to the worker",
    "returns_too_much": "could not be sent: A message of 68,",
    "eats": "MemoryError",
}
GOOD = {
    "closes_output": '"done"',
    "forks": '"parent"',
    "forks_and_raises": '"parent"',
    "threads": '"done"',
    "is_good": '"done"',
}


async def test_only_the_task_that_does_it_is_hit_and_its_reason_is_told(stage: Stage) -> None:
    async with stage.working(slots=6, child_memory_mb=1500):
        ids = await stage.launch(HOSTILE, *GOOD, **{name: retried(1) for name in WHYS})
        assert await stage.ends(*ids) == dict.fromkeys(GOOD, "success") | dict.fromkeys(WHYS, "up_for_retry")
    for name, why in WHYS.items():
        assert why in await stage.why(name), name
        assert (why in await stage.log(name)) or name == "eats", name
    for name, value in GOOD.items():
        assert await stage.xcom(name) == value, name
    assert await stage.log("leaves_with_code") == (
        "about to leave\n"
        "The process of the task ended with exit code 7 before the task did. Raise an exception to end a task.\n"
    )
    assert "in crashes" in await stage.log("crashes"), "the stack of the crash is not in the log"
    exits = {name: (await stage.record(name)).exit for name in ("leaves_with_code", "crashes", "is_killed", "is_good")}
    assert exits == {
        "leaves_with_code": "exit code 7",
        "crashes": "signal SIGSEGV",
        "is_killed": "signal SIGKILL",
        "is_good": None,
    }


async def test_when_a_warm_process_dies_its_legs_fail_and_the_next_ones_have_a_new_one(stage: Stage) -> None:
    told = Told(stage)
    async with stage.working():
        await stage.launch(stubborn(stage), "stubborn")
        pids = await told.pids()
        os.kill(parent_of(pids[0]), signal.SIGKILL)
        await stage.reaches("stubborn", "failed")
        assert "the process that it was forked from was killed by SIGKILL" in await stage.why("stubborn")
        await eventually(lambda: all_gone(*pids[:2]))
        # Whoever has left the process group is out of reach when nobody is there to inherit it.
        for pid in pids[2:]:
            os.kill(pid, signal.SIGKILL)
        await stage.launch(stubborn(stage), "quick")
        await stage.reaches("quick", "success")


SHORT = """
    import os, signal

    def is_short(leg, port):
        return "done"

    def kills_its_parent(leg, port):
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
"""


async def test_legs_that_wait_for_a_slot_outlive_the_process_that_they_were_meant_for(stage: Stage) -> None:
    names = [f"t{number}" for number in range(40)]
    aliases = "\n".join(f"    {name} = is_short" for name in names)
    async with stage.working(slots=1):
        # While legs are short, some wait for the slot of this one.
        ids = await stage.launch(f"{SHORT}\n{aliases}\n    t20 = kills_its_parent\n", *names)

        async def all_have_ended() -> bool:
            """Play the scheduler, too: on a busy machine some wait too long for the new process, and are given back."""
            states = {name: await stage.state(name) for name in names}
            await stage.queue(*(ids[name] for name, state in states.items() if state == "scheduled"))
            return {"success", "failed"} >= set(states.values())

        await eventually(all_have_ended, 30)
        assert await stage.ends(*ids) == dict.fromkeys(names, "success") | {"t20": "failed"}


async def test_when_the_worker_dies_nothing_is_left_over(stage: Stage) -> None:
    told = Told(stage)
    worker = await stage.worker_process()
    await stage.launch(stubborn(stage), "stubborn")
    pids = await told.pids()
    warm = parent_of(pids[0])
    worker.kill()
    await worker.wait()
    await eventually(lambda: all_gone(warm, *pids))
    assert await stage.state("stubborn") == "running"


async def test_when_the_worker_dies_an_import_that_is_going_on_ends_too(stage: Stage) -> None:
    told = Told(stage)
    worker = await stage.worker_process()
    importing = stubborn(stage) + "\n    _tell(os.getpid())\n    while True: pass\n"
    await stage.launch(importing, "stubborn")
    pids = await told.pids()
    worker.kill()
    await worker.wait()
    await eventually(lambda: all_gone(*pids))


async def test_a_worker_process_stops_in_order(stage: Stage) -> None:
    told = Told(stage)
    worker = await stage.worker_process()
    await stage.launch(stubborn(stage), "patient")
    pids = await told.pids()
    warm = parent_of(pids[0])
    worker.terminate()
    assert await worker.wait() == 0
    assert all_gone(warm, *pids)
    assert await stage.state("patient") == "scheduled"
    assert await stage.connection.fetchval("select state from job") == "success"
