"""Databases for tests of DAGs, and their clock; the statements are in sql/scratch.sql."""

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from urllib.parse import urlsplit, urlunsplit

import asyncpg
from msgspec import Struct

from bide.model.plan import DagPlan, encode_plan
from bide.model.states import RunState, TaskState
from bide.sql import schema, statement
from bide.store.database import Database

PREFIX = "bide_scratch_"
LOCK = 0x62696465_73637261


class InstanceState(Struct, frozen=True):
    """How a task instance stands."""

    id: int
    task_id: str
    map_index: int
    state: TaskState
    try_number: int


class Waiting(Struct, frozen=True):
    """A task that waits, and for which wait. A timer has a date, other waits are held by a triggerer."""

    id: int
    claim: int
    triggerer_id: int | None
    due_at: datetime | None
    task_instance_id: int
    dag_run_id: int
    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    try_number: int
    leg: int


@asynccontextmanager
async def scratch_database(server_url: str) -> AsyncIterator[str]:
    """Give the address of a new database with the whole schema; it is dropped at the end."""
    name = f"{PREFIX}{os.getpid()}_{secrets.token_hex(4)}"
    url = urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    admin = await asyncpg.connect(server_url)
    try:
        words = await name_database(admin, name)
        # Kept open, so that nobody takes the database for abandoned.
        keeper = await _made(admin, words["make"], url)
        try:
            await keeper.execute(schema())
            yield url
        finally:
            await keeper.close()
            await admin.execute(words["drop"])
    finally:
        await admin.close()


async def _made(admin: asyncpg.Connection, make: str, url: str) -> asyncpg.Connection:
    """Make a database and connect to it, after abandoned ones were dropped."""
    await lock_scratch(admin)
    try:
        for abandoned in await abandoned_databases(admin):
            await admin.execute((await name_database(admin, abandoned))["drop"])
        await admin.execute(make)
        return await asyncpg.connect(url)
    finally:
        await unlock_scratch(admin)


async def name_database(admin: asyncpg.Connection, name: str) -> asyncpg.Record:
    """Say the words with which a database is made or dropped."""
    return await admin.fetchrow(statement("name_database").text, name)


async def lock_scratch(admin: asyncpg.Connection) -> None:
    """Wait until no other process makes such databases."""
    await admin.execute(statement("lock_scratch").text, LOCK)


async def unlock_scratch(admin: asyncpg.Connection) -> None:
    """Let another process go on."""
    await admin.execute(statement("unlock_scratch").text, LOCK)


async def abandoned_databases(admin: asyncpg.Connection) -> list[str]:
    """List scratch databases that nobody uses any more."""
    return [row["name"] for row in await admin.fetch(statement("abandoned_databases").text, PREFIX)]


async def set_clock(db: Database, now: datetime) -> None:
    """Let the engine's clock stand still at this moment."""
    await db.rows("set_clock", now)


async def read_clock(db: Database) -> datetime:
    """Say what the engine's clock says."""
    now: datetime = (await db.rows("read_clock"))[0]["now"]
    return now


async def waits_of_runs(db: Database) -> list[Waiting]:
    """List the tasks that wait."""
    return [Waiting(**row) for row in await db.rows("waits_of_runs")]


async def logs_of_run(db: Database, run_id: int) -> dict[int, str]:
    """Read what the tasks of a run have written, by task instance."""
    return {row["id"]: row["text"] for row in await db.rows("logs_of_run", run_id)}


async def values_of_run(db: Database, run_id: int, key: str) -> dict[int, str]:
    """Read what the tasks of a run have left under a key, by task instance."""
    return {row["id"]: row["value"] for row in await db.rows("values_of_run", run_id, key)}


async def store_version(db: Database, plan: DagPlan) -> int:
    """Make a plan the latest version of its DAG."""
    text = encode_plan(plan).decode()
    rows = await db.rows(
        "store_version", plan.dag_id, text, plan.max_active_tasks, plan.max_active_runs, sorted(plan.callbacks)
    )
    version: int = rows[0]["id"]
    await use_version(db, plan.dag_id, version)
    return version


async def use_version(db: Database, dag_id: str, version_id: int) -> None:
    """Make a version the latest one."""
    await db.rows("use_version", dag_id, version_id)


async def states_of_run(db: Database, run_id: int) -> tuple[RunState, list[InstanceState]]:
    """Tell how a run and all its task instances stand."""
    rows = await db.rows("states_of_run", run_id)
    instances = [
        InstanceState(row["id"], row["task_id"], row["map_index"], TaskState(row["state"]), row["try_number"])
        for row in rows
        if row["id"] is not None
    ]
    return RunState(rows[0]["run_state"]), instances
