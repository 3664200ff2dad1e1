"""Where waits are measured: real triggerers and schedulers as processes, and a worker that is played.

What the played worker says costs next to nothing, so a hundred thousand tasks wait in a few seconds.
"""

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
from msgspec.structs import replace

from benchmarks.bed import WHO, Task, bare_connection, opened, registered, scheduled_tasks
from benchmarks.report import OUT
from benchmarks.system import PROGRAM, SOURCES, empty_database, run_command, until
from benchmarks.waiters import Notes
from bide.authoring.values import VALUES
from bide.sealing import Sealer, generate_key, wait
from bide.store import deferral, legs, queueing, views
from bide.store.database import Database
from bide.store.deferral import NewWait
from bide.store.rows import Leg
from bide.store.wake import Channel, Hints

AT_ONCE = 1000
ALIVE = "select count(*) = $2 from job where job_type = $1 and state = 'running'"


@dataclass
class Room:
    """A database, who is at work on it, and the notes of the triggers."""

    url: str
    db: Database
    connection: "asyncpg.Connection[asyncpg.Record]"
    notes: Notes
    folder: Path
    worker: int
    key: str = field(default_factory=generate_key)
    runs: int = 0
    scheduler_pid: int = 0

    def __post_init__(self) -> None:
        self.sealer = Sealer([self.key])
        self.hints = Hints(self.db)

    async def wait(self, classpath: str, number: int, kwargs: Callable[[int], Mapping[str, Any]]) -> None:
        """Let so many tasks wait for triggers of a class, and tell the triggerers."""
        done = 0
        while done < number:
            size = min(AT_ONCE * 10, number - done)
            await self._wait(classpath, range(done, done + size), kwargs)
            done += size

    async def _wait(self, classpath: str, numbers: range, kwargs: Callable[[int], Mapping[str, Any]]) -> None:
        tasks = await self._running(len(numbers))
        ids = await deferral.reserve_trigger_ids(self.db, len(tasks))
        waits = [
            self._new_wait(task, id, classpath, VALUES.encode(dict(kwargs(number))))
            for task, id, number in zip(tasks, ids, numbers, strict=True)
        ]
        # All at once, so that nobody begins before all are there.
        await deferral.defer(self.db, WHO, waits)
        self.hints.hint(Channel.TRIGGERER)

    async def timers(self, number: int, every: timedelta) -> None:
        """Let so many tasks wait for dates, one after the other."""
        tasks = await self._running(number)
        ids = await deferral.reserve_trigger_ids(self.db, number)
        waits = [self._new_wait(task, id, "benchmarks.Timer", "{}") for task, id in zip(tasks, ids, strict=True)]
        dated = [replace(wait, due_in=every * nth, event="1") for nth, wait in enumerate(waits, 1)]
        await deferral.defer(self.db, WHO, dated)
        self.hints.hint(Channel.SCHEDULER)

    async def _running(self, number: int) -> list[Task]:
        """Launch a run whose tasks all run with the played worker."""
        self.runs += 1
        tasks = await scheduled_tasks(self.db, self.connection, f"run {self.runs}", number)
        for start in range(0, len(tasks), AT_ONCE):
            some = tasks[start : start + AT_ONCE]
            turn = await views.current_turn(self.db)
            await queueing.enqueue(self.db, WHO, turn, [Leg(task.id, task.leg) for task in some])
            for task in some:
                task.leg += 1
            await legs.start(self.db, WHO, self.worker, [Leg(task.id, task.leg) for task in some])
        return tasks

    def _new_wait(self, task: Task, id: int, classpath: str, kwargs: str) -> NewWait:
        sealed = self.sealer.seal(kwargs, wait(id, classpath))
        blank = NewWait(
            id=task.id, leg=task.leg, trigger_id=id, classpath=classpath, kwargs=sealed, next_method="resume"
        )
        return replace(blank, next_kwargs='{"path":"s3://bucket/key"}')

    @asynccontextmanager
    async def service(self, *words: str, said: Path | None = None) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run a service until the block ends; `said` is the file for its log."""
        environ = os.environ | {
            "BIDE_DATABASE__URL": self.url,
            "BIDE_SECURITY__KEYS": self.key,
            "PYTHONPATH": SOURCES,
        }
        with (said or Path(os.devnull)).open("wb") as log:
            process = await asyncio.create_subprocess_exec(*PROGRAM, *words, env=environ, stderr=log, cwd=self.folder)
        try:
            yield process
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            await process.wait()

    @asynccontextmanager
    async def triggerers(
        self, number: int, *words: str, said: Path | None = None
    ) -> AsyncIterator[list[asyncio.subprocess.Process]]:
        """Run so many triggerers and a scheduler, and wait until they are there."""
        async with self.service("scheduler") as scheduler:
            self.scheduler_pid = scheduler.pid
            entered = [self.service("triggerer", *words, said=said) for _ in range(number)]
            processes = [await one.__aenter__() for one in entered]
            try:
                await until(self.connection, ALIVE, True, "TriggererJob", number)
                await until(self.connection, ALIVE, True, "SchedulerJob", 1)
                yield processes
            finally:
                await asyncio.gather(*(one.__aexit__(None, None, None) for one in entered))

    async def loads(self) -> list[int]:
        """Count what each triggerer holds."""
        rows = await self.connection.fetch("select count(*) as held from trigger group by triggerer_id order by 1")
        return [row["held"] for row in rows]


@asynccontextmanager
async def waiting_room(server_url: str) -> AsyncIterator[Room]:
    """Give a room of its own."""
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        (Path(folder) / "dags").mkdir()
        async with empty_database(server_url) as url:
            await run_command(url, "db", "migrate")
            async with opened(url, 4) as db, bare_connection(url) as connection:
                await connection.execute("insert into dag (dag_id, max_active_tasks) values ('bench', 1000000)")
                _, worker = await registered(db)
                await connection.execute("delete from job where job_type = 'TriggererJob'")
                yield Room(url, db, connection, Notes(Path(folder)), Path(folder), worker)
