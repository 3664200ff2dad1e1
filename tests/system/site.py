"""Services as a person starts them: `bide scheduler`, `bide worker` and the others, each a process of its own."""

import asyncio
import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from bide import kernel
from bide.control import launching
from bide.sealing import generate_key
from bide.store.database import Database, connected
from tests.process.command import BIDE, environment
from tests.process.eventually import eventually
from tests.system.processes import marked, state_of

DAGS = Path(__file__).with_name("dags")
KEY = generate_key()
MARK = "TESTED_SITE"
"""A name in the environment of every process of a site, also of those that tasks have begun."""
QUEUES = tuple("abcdefghij")
PATIENCE_SEC = 60
LOOK_EVERY_SEC = 0.05
"""Machines that run tests may be busy. What must be quick is measured, not waited for."""
HEARTBEAT_SEC = 0.5
# Everything that is waited for is short.
QUICK = {
    "scheduler.job_heartbeat_sec": HEARTBEAT_SEC,
    "scheduler.poll_sec": 0.1,
    "worker.job_heartbeat_sec": HEARTBEAT_SEC,
    "worker.poll_sec": 0.1,
    "worker.grace_sec": 0.5,
    "worker.drain_sec": 0.5,
    "worker.slots": 4,
    "dag_processor.job_heartbeat_sec": HEARTBEAT_SEC,
    "triggerer.job_heartbeat_sec": HEARTBEAT_SEC,
    "triggerer.poll_sec": 0.1,
    "triggerer.runners": 2,
    "triggerer.kill_deadline_sec": 5,
    "logging.level": "DEBUG",
}


async def patiently(condition: Callable[[], object], within_sec: float = PATIENCE_SEC) -> None:
    """Wait until something is so, without keeping the processors from making it so."""
    await eventually(condition, within_sec, LOOK_EVERY_SEC)


@dataclass
class Service:
    """One process that was started, and the file that it writes into."""

    kind: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    @property
    def stands_still(self) -> bool:
        """Whether it was stopped by a signal."""
        return state_of(self.pid) == "T"

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it is still there."""
        self.process.send_signal(number)

    async def ended(self, within_sec: float = PATIENCE_SEC) -> int:
        """Wait for its end, and return how it ended."""
        await patiently(lambda: not self.is_alive, within_sec)
        return self.process.wait()

    def said(self, words: str) -> int:
        """Count how often it has written something."""
        return self.log.read_text(errors="replace").count(words)


@dataclass
class Site:
    """A database, a folder, and the services that were started there."""

    url: str
    db: Database
    hand: Any
    folder: Path
    services: list[Service] = field(default_factory=list)

    def start(self, *words: str, fail_points: str = "", **given: Any) -> Service:
        """Start a command; `given` are settings, written `worker__slots` for `worker.slots`."""
        settings = QUICK | {name.replace("__", "."): value for name, value in given.items()}
        command = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        log = self.folder / f"{len(self.services)}-{words[0]}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [BIDE, *command, *words],
                cwd=self.folder,
                env=environment(
                    {
                        "BIDE_DATABASE_URL": self.url,
                        "BIDE_CORE__DAGS_DIR": str(DAGS),
                        "BIDE_SECURITY__KEYS": KEY,
                        "BIDE_FAIL_POINTS": fail_points,
                        MARK: str(self.folder),
                    }
                ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Should this process be killed, they do not stay.
                preexec_fn=die_with_us,
            )
        self.services.append(Service(words[0], process, log))
        return self.services[-1]

    async def registered(self, *services: Service) -> None:
        """Wait until these are at work."""

        async def are() -> bool:
            rows = await self.hand.fetch("select pid from job where state = 'running'")
            for service in services:
                assert service.is_alive, service.log.read_text()
            return {service.pid for service in services} <= {row["pid"] for row in rows}

        await patiently(are)

    async def job(self, service: Service) -> int:
        """Return the number of the latest registration of a service."""
        return int(await self.hand.fetchval("select max(id) from job where pid = $1", service.pid))

    async def launch(self, dag_id: str, run_id: str, **conf: Any) -> int:
        """Launch a run whose tasks write into this folder, and return its id."""
        launched = await launching.launch(
            self.db, "test", dag_id, run_id=run_id, conf=json.dumps({"folder": str(self.folder)} | conf)
        )
        assert launched
        return launched.id

    async def states(self, run_id: str) -> dict[str, str]:
        """Return the states of the tasks of a run."""
        rows = await self.hand.fetch("select task_id, state from task_instance where run_id = $1", run_id)
        return {row["task_id"]: row["state"] for row in rows}

    async def story(self, run_id: str, task_id: str) -> list[str]:
        """Return the verbs that have moved the state of a task, each with the leg."""
        rows = await self.hand.fetch(
            "select h.verb, h.leg from history h join task_instance t on t.id = h.task_instance_id"
            " where t.run_id = $1 and t.task_id = $2 and h.to_state is not null order by h.id",
            *(run_id, task_id),
        )
        return [f"{row['verb']} {row['leg']}" for row in rows]

    async def run_states(self) -> Counter[str]:
        """Count the states of runs."""
        return Counter(row["state"] for row in await self.hand.fetch("select state from dag_run"))

    async def all_end(self, within_sec: float = PATIENCE_SEC) -> None:
        """Wait until every run has ended, and nothing is left to be looked at."""

        async def have() -> bool:
            left = await self.hand.fetchval(
                "select (select count(*) from dag_run where state in ('queued', 'running'))"
                " + (select count(*) from task_instance where worker_id is not null) + (select count(*) from look)"
                " + (select count(*) from callback where state in ('pending', 'queued', 'running'))"
            )
            return bool(left == 0)

        try:
            await patiently(have, within_sec)
        except AssertionError:
            stuck = await self.hand.fetch(
                "select run_id, task_id, map_index, state, leg, worker_id, wake_at from task_instance"
                " where state not in ('success', 'skipped')"
            )
            raise AssertionError(f"not ended: {[dict(row) for row in stuck]}") from None

    def notes(self) -> list[tuple[str, ...]]:
        """Return what tasks have written down: what, DAG, run, task, map index, try, pid."""
        file = self.folder / "notes"
        return [tuple(line.split("\t")) for line in file.read_text().splitlines()] if file.exists() else []

    async def noted(self, word: str, task_id: str) -> int:
        """Wait until a task has written this down, and return the pid of its latest process."""

        def found() -> list[int]:
            return [int(pid) for what, _, _, task, *_, pid in self.notes() if (what, task) == (word, task_id)]

        await patiently(found)
        return found()[-1]

    def left_over(self) -> set[int]:
        """Return the processes of this site beside the services: those of tasks and all that they have begun."""
        return marked(f"{MARK}={self.folder}") - {service.pid for service in self.services}

    async def ask(self, query: str) -> Sequence[Any]:
        """Ask the database, whatever happens to it meanwhile."""
        deadline = time.monotonic() + PATIENCE_SEC
        while True:
            try:
                rows: Sequence[Any] = await self.hand.fetch(query)
                return rows
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.1)
            with suppress(OSError, asyncpg.PostgresError):
                await self.reconnect()

    async def reconnect(self) -> None:
        """Come back after the server has gone away."""
        self.hand.terminate()
        self.hand = await asyncpg.connect(self.url)

    async def close(self) -> None:
        """Let nothing be left of it."""
        for service in self.services:
            if service.is_alive:
                service.send(signal.SIGCONT)
                service.send(signal.SIGKILL)
        for service in self.services:
            service.process.wait()
        await patiently(lambda: not self.left_over())


def die_with_us() -> None:
    """Ask the kernel to kill this process with the one that started it."""
    kernel.die_with_parent(signal.SIGKILL)


async def read_dags(here: Site) -> None:
    """Let a DAG processor read the DAGs into a new database, and forget that it did."""
    assert await here.start("db", "migrate").ended() == 0
    processor = here.start("dag-processor")

    async def has_read() -> bool:
        assert processor.is_alive, processor.log.read_text()
        return bool(await here.hand.fetchval("select count(*) = 4 from dag"))

    await patiently(has_read)
    processor.send(signal.SIGTERM)
    assert await processor.ended() == 0
    await here.hand.execute("truncate job, history restart identity")
    await here.hand.execute("insert into pool (name, slots) values ('narrow', 2)")


@asynccontextmanager
async def site(url: str, folder: Path) -> AsyncIterator[Site]:
    """A site on a database that knows the DAGs, until the block ends."""
    hand = await asyncpg.connect(url)
    async with connected(url, pool_size=2, patience_sec=PATIENCE_SEC) as db:
        made = Site(url, db, hand, folder)
        try:
            yield made
        finally:
            await made.close()
            made.hand.terminate()


async def learn(url: str, folder: Path) -> None:
    """Let a database know the DAGs."""
    async with site(url, folder) as here:
        await read_dags(here)
