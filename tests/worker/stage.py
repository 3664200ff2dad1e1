"""A real worker on a real database, and what stands around it: a DAG, its versions, runs, and a scheduler's hand."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import asyncpg
from msgspec.structs import replace

from bide.control import launching
from bide.model.plan import DagPlan, TaskPlan, encode_plan
from bide.model.retry import RetryPolicy
from bide.process.program import Ground, Stop, ground, keep
from bide.sealing import generate_key
from bide.settings import Settings, declared
from bide.store import queueing, records, runs, views
from bide.store.database import Database
from bide.store.rows import Leg as LegKey
from bide.store.wake import Channel
from bide.worker.service import Worker
from tests.meta.tree import ROOT
from tests.process.eventually import eventually

CODE = "tests.worker.stand_in"
WHO = "test"
NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
KEY = generate_key()


@dataclass
class Stage:
    """A database with one DAG, and a folder."""

    url: str
    db: Database
    connection: "asyncpg.Connection[asyncpg.Record]"
    folder: Path
    versions: int = 0
    run_number: int = 0
    keys: tuple[str, ...] = (KEY,)
    ids: dict[str, int] = field(default_factory=dict)

    async def version(self, source: str, tasks: Mapping[str, Mapping[str, Any]]) -> None:
        """Make a new version of the DAG, whose tasks have these words in their plan."""
        self.versions += 1
        plan = DagPlan(
            dag_id="dag",
            tasks=tuple(TaskPlan(task_id=name, operator="StandIn", **given) for name, given in tasks.items()),
        )
        await self.connection.execute("insert into dag (dag_id) values ('dag') on conflict do nothing")
        await self.connection.execute(
            "with made as ("
            " insert into dag_version (dag_id, number, plan, source, fileloc, created_at)"
            " values ('dag', $1, $2, $3, 'dag_file.py', bide_now()) returning id)"
            " update dag set version_id = made.id from made",
            self.versions,
            encode_plan(plan).decode(),
            dedent(source),
        )

    async def launch(self, source: str, *names: str, **tasks: Mapping[str, Any]) -> dict[str, int]:
        """Launch a run of a new version, queue its tasks, and return their ids by name."""
        await self.version(source, {name: {} for name in names} | tasks)
        self.run_number += 1
        launched = await launching.launch(
            self.db, WHO, "dag", run_id=f"run {self.run_number}", logical_date=NOW + timedelta(days=self.run_number)
        )
        assert launched
        await runs.begin(self.db, WHO, await views.current_turn(self.db), [launched.id])
        rows = await self.connection.fetch("select id, task_id from task_instance where dag_run_id = $1", launched.id)
        await runs.ready(self.db, WHO, [runs.Unstarted(row["id"], 0) for row in rows])
        found = {row["task_id"]: row["id"] for row in rows}
        self.ids |= found
        await self.queue(*found.values())
        return found

    async def queue(self, *ids: int) -> None:
        """Hand scheduled tasks to the workers."""
        rows = await self.connection.fetch("select id, leg from task_instance where id = any ($1)", ids)
        legs = [LegKey(row["id"], row["leg"]) for row in rows]
        await queueing.enqueue(self.db, WHO, await views.current_turn(self.db), legs)

    async def wake(self, name: str) -> None:
        """Let the date of a task come that tries or looks again, and hand it to the workers."""
        await self.connection.execute("update task_instance set wake_at = bide_now() where id = $1", self.ids[name])
        await queueing.wake(self.db, WHO, 10)
        await self.queue(self.ids[name])

    async def row(self, name: str) -> asyncpg.Record:
        """Return the row of a task."""
        return await self.connection.fetchrow("select * from task_instance where id = $1", self.ids[name])

    async def state(self, name: str) -> str:
        """Return the state of a task."""
        return str((await self.row(name))["state"])

    async def reaches(self, name: str, *states: str, within_sec: float = 20) -> str:
        """Wait until a task is in one of these states."""

        async def there() -> bool:
            return await self.state(name) in states

        await eventually(there, within_sec)
        return await self.state(name)

    async def ends(self, *names: str) -> dict[str, str]:
        """Wait until these tasks run no longer, and return their states."""
        on_the_way = {"none", "scheduled", "queued", "running"}
        for name in names:

            async def over(name: str = name) -> bool:
                return await self.state(name) not in on_the_way

            await eventually(over, 30)
        return {name: await self.state(name) for name in names}

    async def log(self, name: str, try_number: int = 1) -> str:
        """Return the log of a try."""
        chunks = await records.read_log(self.db, self.ids[name], try_number)
        return "".join(chunk.text for chunk in chunks)

    async def why(self, name: str) -> str:
        """Return the reason in the last history entry of a task."""
        return str(
            await self.connection.fetchval(
                "select why from history where task_instance_id = $1 order by id desc limit 1", self.ids[name]
            )
        )

    async def record(self, name: str) -> records.LegRecord:
        """Return how the last leg of a task ended."""
        return (await records.leg_records(self.db, self.ids[name]))[-1]

    async def xcom(self, name: str) -> str | None:
        """Return what a task has returned."""
        value: str | None = await self.connection.fetchval(
            "select x.value from xcom x join task_instance t using (dag_id, run_id, task_id, map_index)"
            " where t.id = $1 and x.key = 'return_value'",
            self.ids[name],
        )
        return value

    def settings(self, **worker: Any) -> Settings:
        """Return settings that suit a test."""
        given = {"slots": 4, "poll_sec": 0.05, "grace_sec": 0.3, "drain_sec": 0.1, "job_heartbeat_sec": 0.5} | worker
        return Settings(
            core=declared.Core(data_dir=self.folder, dags_dir=self.folder),
            database=declared.Database(url=self.url),
            security=declared.Security(keys=self.keys),
            worker=replace(declared.Worker(), **given),
        )

    @asynccontextmanager
    async def working(self, environ: Mapping[str, str] | None = None, **worker: Any) -> AsyncIterator["Working"]:
        """Let a worker work for as long as the block runs; at the end it is told to stop."""
        async with ground(self.settings(**worker), self.url, [Channel.WORKER]) as place:
            service = Worker(place, {**os.environ, "PYTHONPATH": str(ROOT), **(environ or {})}, CODE)
            stop = Stop()
            task = asyncio.create_task(keep(place, service, stop))
            working = Working(place, service, stop, task)
            try:
                yield working
            finally:
                stop()
                if working.hurries:
                    stop()
                await task

    async def worker_process(self, **environ: str) -> asyncio.subprocess.Process:
        """Start a worker in a process of its own, which is given its settings as a user gives them; wait until it is
        there."""
        worker = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.worker.program"),
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "BIDE_DATABASE_URL": self.url,
                "BIDE_SECURITY__KEYS": KEY,
                "BIDE_CORE__DAGS_DIR": str(self.folder),
                "BIDE_WORKER__DRAIN_SEC": "0.1",
                "BIDE_WORKER__GRACE_SEC": "0.3",
                **environ,
            },
        )

        async def is_registered() -> bool:
            return bool(await self.connection.fetchval("select count(*) from job where pid = $1", worker.pid))

        await eventually(is_registered, 20)
        return worker


@dataclass
class Working:
    """A worker at work."""

    place: Ground
    service: Worker
    stop: Stop
    task: asyncio.Task[None]
    hurries: bool = True


def retried(retries: int) -> Mapping[str, Any]:
    """Words of a plan: a task that is tried again soon."""
    return {"retry": RetryPolicy(retries=retries, delay=timedelta(seconds=1))}
