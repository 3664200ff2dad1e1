"""Real triggerers on a real database, and what stands around them: tasks that wait, and a person's hand."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import asyncpg
from msgspec.structs import replace

from bide.authoring.values import VALUES
from bide.control import launching
from bide.model.plan import DagPlan, TaskPlan, encode_plan
from bide.process.program import Ground, Stop, ground, keep
from bide.sealing import Sealer, generate_key, wait
from bide.settings import Settings, declared
from bide.store import deferral, jobs, legs, people, queueing, records, runs, views
from bide.store.database import Database
from bide.store.deferral import NewWait
from bide.store.rows import Leg
from bide.store.wake import Channel
from bide.triggerer.service import Triggerer
from tests.meta.tree import ROOT
from tests.process.eventually import eventually

WHO = "test"
KEY = generate_key()
KINDS = "tests.triggerer.kinds"
PATIENCE = timedelta(seconds=20)


@dataclass
class Post:
    """A database in which tasks wait."""

    url: str
    db: Database
    connection: "asyncpg.Connection[asyncpg.Record]"
    folder: Path
    worker: int
    runs: int = 0
    keys: tuple[str, ...] = (KEY,)
    tasks: dict[int, int] = field(default_factory=dict)

    @classmethod
    async def new(cls, url: str, db: Database, connection: "asyncpg.Connection[asyncpg.Record]", folder: Path) -> Self:
        """Make one with a DAG."""
        await connection.execute("insert into dag (dag_id, max_active_tasks, max_active_runs) values ('dag', 9999, 99)")
        worker = await jobs.register(
            db, WHO, jobs.NewJob(job_type=jobs.JobType.WORKER, hostname="test", heartbeat_sec=86_400)
        )
        await connection.execute("update pool set slots = 100000")
        return cls(url, db, connection, folder, worker)

    async def version(self, tasks: Sequence[str], source: str = "", fileloc: str = "dag_file.py") -> int:
        """Make a new version of the DAG."""
        plan = DagPlan(dag_id="dag", tasks=tuple(TaskPlan(task_id=name, operator="Waits") for name in tasks))
        number: int = await self.connection.fetchval(
            "with made as ("
            " insert into dag_version (dag_id, number, plan, source, fileloc, created_at)"
            " select 'dag', count(*) + 1, $1, $2, $3, bide_now() from dag_version returning id)"
            " update dag set version_id = made.id from made returning made.id",
            *(encode_plan(plan).decode(), source, fileloc),
        )
        return number

    async def wait(self, kind: str, *arguments: Mapping[str, Any], **given: Any) -> list[int]:
        """Let one task for each set of arguments wait for a trigger of this class; return the numbers of the waits."""
        self.runs += 1
        names = [f"task_{number}" for number in range(len(arguments))]
        source = given.pop("source", "")
        await self.version(names, source)
        launched = await launching.launch(self.db, WHO, "dag", run_id=f"run {self.runs}")
        assert launched
        await runs.begin(self.db, WHO, await views.current_turn(self.db), [launched.id])
        rows = await self.connection.fetch(
            "select id from task_instance where dag_run_id = $1 order by id", launched.id
        )
        ids = [row["id"] for row in rows]
        await runs.ready(self.db, WHO, [runs.Unstarted(id, 0) for id in ids])
        await queueing.enqueue(self.db, WHO, await views.current_turn(self.db), [Leg(id, 0) for id in ids])
        await legs.start(self.db, WHO, self.worker, [Leg(id, 1) for id in ids])
        return await self.defer(kind, dict(zip(ids, arguments, strict=True)), **given)

    async def defer(self, kind: str, tasks: Mapping[int, Mapping[str, Any]], **given: Any) -> list[int]:
        """Let running tasks wait."""
        classpath = kind if "." in kind else f"{KINDS}.{kind}"
        numbers = await deferral.reserve_trigger_ids(self.db, len(tasks))
        sealer = Sealer([given.pop("key", KEY)])
        waits = [
            NewWait(
                id=id,
                leg=1,
                trigger_id=number,
                classpath=classpath,
                kwargs=sealer.seal(VALUES.encode(dict(arguments)), wait(number, classpath)),
                next_method="go_on",
                **given,
            )
            for number, (id, arguments) in zip(numbers, tasks.items(), strict=True)
        ]
        assert len(await deferral.defer(self.db, WHO, waits)) == len(waits)
        self.tasks |= dict(zip(numbers, tasks, strict=True))
        return numbers

    async def row(self, number: int) -> asyncpg.Record:
        """Return the row of the task that waits, or has waited."""
        return await self.connection.fetchrow("select * from task_instance where id = $1", self.tasks[number])

    async def ends(self, *numbers: int, within_sec: float = 20) -> list[Any]:
        """Wait until these waits are over, and return what their tasks go on with: states, or decoded arguments."""

        async def over() -> bool:
            waiting = "select count(*) from task_instance where state = 'deferred' and id = any ($1)"
            return not await self.connection.fetchval(waiting, [self.tasks[number] for number in numbers])

        await eventually(over, within_sec)
        found = []
        for number in numbers:
            row = await self.row(number)
            said = VALUES.decode(row["next_kwargs"]) if row["next_kwargs"] else row["state"]
            found.append(said.get("event", said) if isinstance(said, dict) else said)
        return found

    async def log(self, number: int) -> str:
        """Return the log of a task."""
        return "".join(chunk.text for chunk in await records.read_log(self.db, self.tasks[number], 1))

    async def logs(self, number: int, text: str) -> None:
        """Wait until a text is in the log of a task."""

        async def there() -> bool:
            return text in await self.log(number)

        await eventually(there, 20)

    async def held(self) -> dict[int, int]:
        """Count the waits that each triggerer holds."""
        rows = await self.connection.fetch(
            "select triggerer_id, count(*) from trigger where triggerer_id is not null group by 1"
        )
        return {row[0]: row[1] for row in rows}

    async def are_held(self, number: int) -> None:
        """Wait until so many waits are held."""

        async def there() -> bool:
            return sum((await self.held()).values()) == number

        await eventually(there, 20)

    @property
    def leaving(self) -> dict[str, str]:
        """Arguments of a trigger that keeps a diary, and waits until `go`."""
        return {"diary": str(self.folder / "diary"), "until": str(self.folder / "go")}

    def diary(self) -> list[str]:
        """Read what such triggers have written."""
        path = self.folder / "diary"
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def go(self) -> None:
        """Let them yield their events."""
        (self.folder / "go").touch()

    async def clear(self, number: int) -> None:
        """Clear a task, as a person does."""
        await people.clear(self.db, "person", PATIENCE, [self.tasks[number]])

    async def lapse(self) -> int:
        """End waits that took too long, as schedulers do."""
        return len(await deferral.lapse(self.db, WHO, PATIENCE, 100))

    async def history(self, *verbs: str) -> list[tuple[str, str | None]]:
        """Return the entries of the history about some verbs, with their reasons."""
        rows = await self.connection.fetch("select verb, why from history where verb = any ($1) order by id", verbs)
        return [(row["verb"], row["why"]) for row in rows]

    def settings(self, **triggerer: Any) -> Settings:
        """Return settings that suit a test."""
        given = {"poll_sec": 0.1, "job_heartbeat_sec": 0.5, "hold_limit_sec": 0.4, "stuck_sec": 2.0} | triggerer
        return Settings(
            core=declared.Core(data_dir=self.folder, dags_dir=self.folder),
            database=declared.Database(url=self.url),
            security=declared.Security(keys=self.keys),
            triggerer=replace(declared.Triggerer(), **given),
        )

    @asynccontextmanager
    async def waiting(self, environ: Mapping[str, str] | None = None, **triggerer: Any) -> AsyncIterator["AtWork"]:
        """Let a triggerer work for as long as the block runs; at the end it is told to stop."""
        async with ground(self.settings(**triggerer), self.url, [Channel.TRIGGERER]) as place:
            service = Triggerer(place, {**os.environ, "PYTHONPATH": str(ROOT), **(environ or {})})
            stop = Stop()
            task = asyncio.create_task(keep(place, service, stop))
            try:
                yield AtWork(place, service, stop, task)
            finally:
                stop()
                await task

    async def process(self, **environ: str) -> "Process":
        """Start a triggerer in a process of its own, and wait until it is there."""
        started = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.triggerer.program"),
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "BIDE_DATABASE_URL": self.url,
                "BIDE_SECURITY__KEYS": KEY,
                "BIDE_CORE__DAGS_DIR": str(self.folder),
                "BIDE_TRIGGERER__JOB_HEARTBEAT_SEC": "0.5",
                **environ,
            },
        )

        async def number() -> int | None:
            found: int | None = await self.connection.fetchval(
                "select id from job where pid = $1 and state = 'running'", started.pid
            )
            return found

        await eventually(number, 20)
        return Process(started, await number() or 0)


@dataclass
class AtWork:
    """A triggerer at work in this process."""

    place: Ground
    service: Triggerer
    stop: Stop
    task: asyncio.Task[None]

    def ring(self) -> None:
        """Hint at it, as whoever has changed something does."""
        self.place.bells.ring(Channel.TRIGGERER)


@dataclass
class Process:
    """A triggerer in a process of its own, and the number of its job."""

    process: asyncio.subprocess.Process
    job: int

    async def end(self, number: int = signal.SIGKILL) -> None:
        """Send it a signal, and wait until it is gone."""
        if self.process.returncode is None:
            self.process.send_signal(number)
        await self.process.wait()
