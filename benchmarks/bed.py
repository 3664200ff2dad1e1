"""What every benchmark stands on: the product's own server with its own settings, and a fresh database on it.

Nothing is switched off: `fsync`, `synchronous_commit` and autovacuum are on, as they are for a user.
"""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from msgspec import Struct

from bide.sql import schema
from bide.store import jobs, runs, views
from bide.store.database import Database, connected
from bide.store.deferral import NewWait

WHO = "benchmark"
KWARGS = "x" * 200  # as long as a small sealed token
EVENT = '{"status":"done","at":"2026-01-01T00:00:00Z"}'
PATIENCE = timedelta(seconds=60)


class Task(Struct):
    """A task instance as the one who works with it knows it."""

    id: int
    leg: int
    trigger_id: int = 0
    claim: int = 0


@asynccontextmanager
async def fresh_database(server_url: str) -> AsyncIterator[str]:
    """Give the address of a new database with the whole schema; it is dropped at the end."""
    name = f"bench_{secrets.token_hex(6)}"
    admin = await asyncpg.connect(server_url)
    try:
        await admin.execute(f"create database {name}")
        url = urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
        connection = await asyncpg.connect(url)
        try:
            await connection.execute(schema())
            await connection.execute("insert into dag (dag_id, max_active_tasks) values ('bench', 1000000)")
        finally:
            await connection.close()
        yield url
    finally:
        await admin.execute(f"drop database if exists {name} with (force)")
        await admin.close()


@asynccontextmanager
async def opened(url: str, connections: int = 1) -> AsyncIterator[Database]:
    """Open the engine's own way to the database, warm."""
    async with connected(url, pool_size=connections) as db:
        yield db


@asynccontextmanager
async def bare_connection(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Open a plain connection, for what a benchmark has to arrange or to look at."""
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def registered(db: Database) -> tuple[int, int]:
    """Register a triggerer and a worker; give their numbers."""
    job = jobs.NewJob(job_type=jobs.JobType.TRIGGERER, hostname="bench", heartbeat_sec=86400)
    triggerer = await jobs.register(db, WHO, job)
    job = jobs.NewJob(job_type=jobs.JobType.WORKER, hostname="bench", heartbeat_sec=86400)
    return triggerer, await jobs.register(db, WHO, job)


async def scheduled_tasks(db: Database, connection: asyncpg.Connection, run_id: str, number: int) -> list[Task]:
    """Launch a run of so many tasks and get them ready to be queued."""
    tasks = [runs.NewTask(task_id=f"task_{n}", operator="BenchOperator") for n in range(number)]
    launched = await runs.launch(db, WHO, "bench", None, "manual", None, [runs.NewRun(run_id)], tasks)
    run = launched[0].id
    await runs.begin(db, WHO, await views.current_turn(db), [run])
    found = await connection.fetch("select id from task_instance where dag_run_id = $1 order by id", run)
    unstarted = [runs.Unstarted(row["id"], 0) for row in found]
    return [Task(row.id, row.leg) for row in await runs.ready(db, WHO, unstarted)]


def new_wait(task: Task, queue: str | None = None) -> NewWait:
    """Say what a task of the benchmark waits for: a small event from a trigger without on_kill."""
    return NewWait(
        id=task.id,
        leg=task.leg,
        trigger_id=task.trigger_id,
        classpath="bench.triggers.BenchTrigger",
        kwargs=KWARGS,
        next_method="resume",
        next_kwargs='{"path":"s3://bucket/key"}',
        timeout=timedelta(hours=1),
        queue=queue,
    )
