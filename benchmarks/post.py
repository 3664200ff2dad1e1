"""Triggerers as people run them, on a database in which tasks wait."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from benchmarks.bed import bare_connection, fresh_database, opened
from benchmarks.system import PROGRAM, until
from bide.sealing import Sealer, generate_key, wait
from bide.store.database import Database
from bide.store.wake import Channel, Hints

ROOT = Path(__file__).parents[1]
KEY = generate_key()
BATCH = 1000
LEAVES_WITHIN_SEC = 20.0

RUN = """
    insert into dag_run (dag_id, run_id, state, queued_at, start_date)
    values ('bench', 'run ' || (select count(*) from dag_run), 'running', now(), now()) returning id"""
WAITING = """
    with waits as (
        insert into trigger (id, classpath, kwargs, created_date, queue)
        select id, $2, kwargs, now(), $5 from unnest($3::bigint[], $4::text[]) as g (id, kwargs) returning id
    )
    insert into task_instance (
        dag_run_id, dag_id, run_id, task_id, state, leg, try_number, trigger_id, next_method, next_kwargs, start_date)
    select r.id, r.dag_id, r.run_id, 'task_' || w.id, 'deferred', 1, 1, w.id, 'resume', '{"path":"s3://bucket/key"}',
           now()
    from waits w join dag_run r on r.id = $1"""
HELD_BY = "select count(*) from trigger w join job j on j.id = w.triggerer_id where j.pid = $1"
HELD = "select count(*) from trigger where triggerer_id is not null"
IDS = "select nextval('trigger_id_seq') from generate_series(1, $1)"


@dataclass
class Post:
    """A database, and what can be done there."""

    url: str
    db: Database
    connection: "asyncpg.Connection[asyncpg.Record]"
    stack: AsyncExitStack

    async def wait(self, kind: str, number: int, queue: str | None = None, **arguments: Any) -> None:
        """Let so many tasks wait for triggers of this kind."""
        sealer, classpath = Sealer([KEY]), f"benchmarks.triggers.{kind}"
        kwargs = msgspec.json.encode(arguments).decode()
        for at in range(0, number, BATCH):
            run = await self.connection.fetchval(RUN)
            ids = [row[0] for row in await self.connection.fetch(IDS, min(BATCH, number - at))]
            sealed = [sealer.seal(kwargs, wait(id, classpath)) for id in ids]
            await self.connection.execute(WAITING, run, classpath, ids, sealed, queue)
        await self.connection.execute("vacuum analyze trigger, task_instance")

    async def triggerer(self, **settings: object) -> asyncio.subprocess.Process:
        """Start `bide triggerer`, and wait until it has registered."""
        return await self.start("triggerer", **{f"triggerer__{name}": given for name, given in settings.items()})

    async def start(self, service: str, **settings: object) -> asyncio.subprocess.Process:
        """Start one service, and wait until it has registered."""
        environ = {f"BIDE_{name.upper()}": str(given) for name, given in settings.items()}
        environ |= {"BIDE_DATABASE__URL": self.url, "BIDE_SECURITY__KEYS": KEY, "BIDE_LOGGING__LEVEL": "ERROR"}
        process = await asyncio.create_subprocess_exec(
            *PROGRAM, service, env={**os.environ, "PYTHONPATH": str(ROOT), **environ}, cwd=ROOT
        )
        self.stack.push_async_callback(end, process)
        await until(self.connection, "select exists (select from job where pid = $1)", True, process.pid)
        return process

    async def hint(self) -> None:
        """Wake the triggerers."""
        hints = Hints(self.db)
        hints.hint(Channel.TRIGGERER)
        await hints.flushed()

    async def all_held(self, number: int) -> float:
        """Wait until so many waits are held; return the seconds that took."""
        return await until(self.connection, HELD, number)

    async def held_by(self, pid: int) -> int:
        """Count what one triggerer holds."""
        found: int = await self.connection.fetchval(HELD_BY, pid)
        return found


@asynccontextmanager
async def post(server_url: str) -> AsyncIterator[Post]:
    """Give a database without waits; whoever was started is ended with it."""
    async with fresh_database(server_url) as url, AsyncExitStack() as stack:
        db = await stack.enter_async_context(opened(url, 2))
        connection = await stack.enter_async_context(bare_connection(url))
        yield Post(url, db, connection, stack)


async def end(process: asyncio.subprocess.Process) -> None:
    """End a service."""
    if process.returncode is None:
        process.terminate()
        try:
            async with asyncio.timeout(LEAVES_WITHIN_SEC):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def within(condition: Callable[[], bool], seconds: float) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  it is another process that makes it so
            await asyncio.sleep(0.01)
