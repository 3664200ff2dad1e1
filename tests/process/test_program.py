"""Services are registered, kept alive, drained or dropped, alone or several in one process."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import pytest

from bide.process.loop import Chore
from bide.process.membership import Member
from bide.process.program import Ground, Stop, ground, serve
from bide.process.wakes import Bell
from bide.settings import Settings
from bide.store import jobs
from bide.store.database import Database
from bide.store.jobs import JobType, NewJob
from bide.store.wake import Channel
from tests.meta.tree import ROOT
from tests.process.eventually import eventually

KINDS = {"scheduler": (JobType.SCHEDULER, Channel.SCHEDULER), "worker": (JobType.WORKER, Channel.WORKER)}


@dataclass
class Recorder:
    """A service that writes down what is done with it."""

    name: str
    bell: Bell
    told: list[str] = field(default_factory=list)
    steps: int = 0
    drains: bool = True

    def job(self) -> NewJob:
        return NewJob(job_type=KINDS[self.name][0], hostname="", heartbeat_sec=0.2)

    def chores(self) -> Sequence[Chore]:
        return [Chore(f"The {self.name}'s step", self.step, 3600, self.bell)]

    async def step(self) -> None:
        self.steps += 1

    async def begin(self, member: Member) -> None:
        self.told.append(f"begin {member.who}")

    async def drain(self, hurry: asyncio.Event) -> None:
        self.told.append("drain")
        if not self.drains:
            await hurry.wait()
            self.told.append("hurry")

    async def drop(self) -> None:
        self.told.append("drop")


@dataclass
class Scene:
    """Services at work."""

    place: Ground
    services: dict[str, Recorder]
    stop: Stop
    task: asyncio.Task[None]


@asynccontextmanager
async def at_work(url: str, *names: str, drains: bool = True) -> AsyncIterator[Scene]:
    channels = [KINDS[name][1] for name in names]
    async with ground(Settings(), url, channels) as place:
        services = {name: Recorder(name, place.bells.bell(KINDS[name][1]), drains=drains) for name in names}
        stop = Stop()
        task = asyncio.create_task(serve(place, list(services.values()), stop))
        await eventually(lambda: all(service.steps for service in services.values()))
        yield Scene(place, services, stop, task)
        stop()
        stop()
        await asyncio.wait_for(task, 10)


@pytest.fixture
async def other(database: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


async def test_services_of_one_process_are_registered_each_and_leave_in_order(
    database: str, db: Database, other: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    async with at_work(database, "scheduler", "worker") as scene:
        rows = await other.fetch("select job_type, state, pid, holds_lock from job order by job_type")
        assert [(row["job_type"], row["state"], row["holds_lock"]) for row in rows] == [
            ("SchedulerJob", "running", True),
            ("WorkerJob", "running", True),
        ]
        scene.stop()
        await asyncio.wait_for(scene.task, 10)
        assert [service.told[1:] for service in scene.services.values()] == [["drain", "drop"]] * 2
    assert {row["state"] for row in await other.fetch("select state from job")} == {"success"}


async def test_ringing_a_channel_wakes_its_service_here_and_in_other_processes(database: str) -> None:
    async with at_work(database, "scheduler") as here, at_work(database, "worker", "scheduler") as there:
        mine, others = here.services["scheduler"], there.services
        before = (mine.steps, others["scheduler"].steps, others["worker"].steps)
        here.place.bells.ring(Channel.SCHEDULER)
        await eventually(lambda: mine.steps > before[0] and others["scheduler"].steps > before[1])
        here.place.bells.ring(Channel.WORKER)
        await eventually(lambda: others["worker"].steps > before[2])


async def test_a_second_signal_hurries_a_drain(database: str) -> None:
    async with at_work(database, "worker", drains=False) as scene:
        scene.stop()
        told = scene.services["worker"].told
        await eventually(lambda: "drain" in told)
        scene.stop()
        await asyncio.wait_for(scene.task, 10)
        assert told[1:] == ["drain", "hurry", "drop"]


async def test_whoever_was_buried_drops_everything_and_registers_anew(
    database: str, other: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    async with at_work(database, "worker") as scene:
        # What `bury` does when heartbeats are overdue.
        await other.execute("update job set state = 'failed', end_date = bide_now()")
        told = scene.services["worker"].told
        await eventually(lambda: len(told) == 3)
    assert told[:3] == ["begin WorkerJob 1", "drop", "begin WorkerJob 2"]
    assert [row["state"] for row in await other.fetch("select state from job order by id")] == ["failed", "success"]


async def test_a_heart_beats_and_a_lost_lock_is_taken_again(
    database: str, db: Database, other: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    held = "select count(*) from pg_locks where locktype = 'advisory' and granted and objid = 1"
    async with at_work(database, "worker"):

        async def holds() -> bool:
            return bool(await other.fetchval(held) == 1)

        await eventually(holds)
        assert await jobs.suspect(db, "test") == []
        first = await other.fetchval("select latest_heartbeat from job")

        async def has_beaten() -> bool:
            return bool(await other.fetchval("select latest_heartbeat > $1 from job", first))

        await eventually(has_beaten)
        await other.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'bide lock' and datname = current_database()"
        )

        await jobs.suspect(db, "test")

        async def is_cleared() -> bool:
            return await holds() and await other.fetchval("select suspected_at from job") is None

        await eventually(is_cleared)


async def test_services_outlive_the_loss_of_all_connections(database: str) -> None:
    async with at_work(database, "worker") as scene:
        admin = await asyncpg.connect(database)
        for _ in range(3):
            await admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where pid <> pg_backend_pid() and datname = current_database()"
            )
            scene.place.bells.ring_here(Channel.WORKER)
        steps = scene.services["worker"].steps
        scene.place.bells.ring_here(Channel.WORKER)
        await eventually(lambda: scene.services["worker"].steps > steps)
        await admin.close()


PROGRAM = """
import ctypes
from bide.process import program
from bide.process.wakes import Bell
from bide.settings import load
from tests.process.test_program import Recorder

class Telling(Recorder):
    async def step(self):
        hidden = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0
        print("hidden" if hidden else "readable", flush=True)

settings = load()
program.run(settings, settings.database.url, [], lambda place: [Telling("worker", Bell())])
"""


async def test_a_process_of_services_hides_its_memory_and_ends_at_a_signal(database: str, tmp_path: Path) -> None:
    environ = {"BIDE_DATABASE_URL": database, "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, cwd=tmp_path, env=environ, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    assert await asyncio.wait_for(process.stdout.readline(), 30) == b"hidden\n"
    process.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(process.wait(), 20) == 0
