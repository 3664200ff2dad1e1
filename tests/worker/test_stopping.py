"""A leg that is taken away stops, with all that it has begun; a worker that leaves hands its legs over."""

import asyncio
import json
from datetime import timedelta

from bide.model.states import TaskState
from bide.store import people
from bide.store.wake import Channel
from tests.process.eventually import eventually
from tests.worker.processes import all_gone, is_alive
from tests.worker.stage import WHO, Stage

PATIENCE = timedelta(seconds=30)
STUBBORN = """
    import json, os, signal, subprocess, sys
    from pathlib import Path
    from threading import Event

    def _tell(*pids):
        partial = Path({folder!r}, "partial")
        partial.write_text(json.dumps(pids))
        partial.rename(Path({folder!r}, "pids"))

    def polite(leg, port):
        def on_kill(number, frame):
            print("on_kill was called", flush=True)
            raise KeyboardInterrupt
        signal.signal(signal.SIGTERM, on_kill)
        _tell(os.getpid())
        Event().wait()

    def stubborn(leg, port):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        beside = subprocess.Popen(["sleep", "600"])
        away = subprocess.Popen(["sleep", "600"], start_new_session=True)
        # Its parent ends at once, and it leaves the session: nobody's child any more.
        orphan = subprocess.run(["setsid", "--fork", "sh", "-c", "echo $$; exec sleep 600 >&- 2>&-"],
                                stdout=subprocess.PIPE, text=True).stdout
        _tell(os.getpid(), beside.pid, away.pid, int(orphan))
        Event().wait()

    def patient(leg, port):
        _tell(os.getpid())
        Event().wait(60 if leg.leg == 1 else 0)
        return leg.try_number

    def quick(leg, port):
        _tell(os.getpid())
        Event().wait(0.3)
        return "done"
"""


class Told:
    """What a task has told of its processes."""

    def __init__(self, stage: Stage) -> None:
        self.file = stage.folder / "pids"

    async def pids(self) -> list[int]:
        await eventually(self.file.exists, 20)
        pids: list[int] = json.loads(self.file.read_text())
        self.file.unlink()
        assert all(is_alive(pid) for pid in pids)
        return pids


def source(stage: Stage) -> str:
    return STUBBORN.format(folder=str(stage.folder))


async def test_a_cleared_task_is_asked_to_stop_and_its_on_kill_runs(stage: Stage) -> None:
    told = Told(stage)
    async with stage.working(grace_sec=20) as working:
        ids = await stage.launch(source(stage), "polite")
        pids = await told.pids()
        await people.clear(stage.db, WHO, PATIENCE, [ids["polite"]])
        working.place.bells.ring_here(Channel.WORKER)
        await eventually(lambda: all_gone(*pids))

        async def is_let_go() -> bool:
            return (await stage.row("polite"))["worker_id"] is None

        await eventually(is_let_go)
        assert await stage.state("polite") == "restarting"
    assert "on_kill was called" in await stage.log("polite")
    assert "Stopped: its task was cleared." in await stage.log("polite")


async def test_a_task_that_ignores_sigterm_is_killed_with_all_that_it_has_begun(stage: Stage) -> None:
    told = Told(stage)
    async with stage.working() as working:
        ids = await stage.launch(source(stage), "stubborn")
        pids = await told.pids()
        assert len(pids) == 4
        await people.mark(stage.db, WHO, PATIENCE, [ids["stubborn"]], TaskState.SUCCESS)
        working.place.bells.ring_here(Channel.WORKER)
        await eventually(lambda: all_gone(*pids))

        async def is_let_go() -> bool:
            return (await stage.row("stubborn"))["worker_id"] is None

        await eventually(is_let_go)
        assert await stage.state("stubborn") == "success"
    assert (await stage.record("stubborn")).exit == "signal SIGKILL"


async def test_a_task_that_does_not_end_at_its_execution_timeout_is_killed(stage: Stage) -> None:
    told = Told(stage)
    async with stage.working():
        await stage.launch(source(stage), stubborn={"execution_timeout": timedelta(seconds=1)})
        pids = await told.pids()
        assert await stage.reaches("stubborn", "failed")
        await eventually(lambda: all_gone(*pids))
    assert "longer than its execution_timeout" in await stage.why("stubborn")
    assert "longer than its execution_timeout" in await stage.log("stubborn")


async def test_a_worker_that_stops_waits_for_what_ends_soon(stage: Stage) -> None:
    told = Told(stage)
    async with stage.working(drain_sec=20) as working:
        working.hurries = False
        await stage.launch(source(stage), "quick")
        await told.pids()
    assert await stage.state("quick") == "success"
    assert await stage.connection.fetchval("select state from job") == "success"


async def test_a_worker_that_stops_hands_over_what_does_not_end(stage: Stage) -> None:
    told = Told(stage)
    async with stage.working() as working:
        working.hurries = False
        ids = await stage.launch(source(stage), "patient")
        pids = await told.pids()
    assert all_gone(*pids)
    row = await stage.row("patient")
    assert (row["state"], row["worker_id"], row["try_number"]) == ("scheduled", None, 1)
    assert await stage.connection.fetchval("select state from job") == "success"
    async with stage.working():
        await stage.queue(ids["patient"])
        await stage.reaches("patient", "success")
    assert await stage.xcom("patient") == "1"


async def test_a_second_signal_stops_at_once(stage: Stage) -> None:
    told = Told(stage)
    async with stage.working(drain_sec=600, grace_sec=600) as working:
        await stage.launch(source(stage), "stubborn")
        pids = await told.pids()
        working.stop()
        working.stop()
        await asyncio.wait_for(asyncio.shield(working.task), 20)
    assert all_gone(*pids)
    assert await stage.state("stubborn") == "scheduled"


async def test_a_worker_that_was_buried_drops_everything_and_begins_anew(stage: Stage) -> None:
    told = Told(stage)
    async with stage.working(job_heartbeat_sec=0.3):
        await stage.launch(source(stage), "patient")
        pids = await told.pids()
        # What `bury` does when heartbeats are overdue.
        await stage.connection.execute("update job set state = 'failed', end_date = bide_now()")
        await eventually(lambda: all_gone(*pids))

        async def is_back() -> bool:
            states = await stage.connection.fetch("select state from job order by id")
            return [row["state"] for row in states] == ["failed", "running"]

        await eventually(is_back)
        # Not a word was said about the leg: whoever rescues it decides.
        assert await stage.state("patient") == "running"
        await stage.launch(source(stage), "quick")
        await stage.reaches("quick", "success")


async def test_a_leg_whose_start_was_not_answered_is_given_back(stage: Stage) -> None:
    async with stage.working() as working:
        await stage.version("", {"task": {}})

        async def is_registered() -> bool:
            return bool(await stage.connection.fetchval("select count(*) from job"))

        await eventually(is_registered)
        await stage.connection.execute(
            "with run as (insert into dag_run (dag_id, run_id, queued_at) values ('dag', 'r', now()) returning *)"
            " insert into task_instance"
            "  (dag_run_id, dag_id, run_id, task_id, state, leg, child_leg, try_number, start_date, worker_id)"
            " select run.id, dag_id, run_id, 'task', 'running', 1, 1, 1, now(), job.id from run, job"
        )
        stage.ids["task"] = await stage.connection.fetchval("select id from task_instance")

        async def is_given_back() -> bool:
            working.place.bells.ring_here(Channel.WORKER)
            return await stage.state("task") == "scheduled"

        await eventually(is_given_back)
    row = await stage.row("task")
    assert (row["worker_id"], row["try_number"]) == (None, 1)
