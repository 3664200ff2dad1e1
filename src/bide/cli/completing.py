"""Completion of ids in the shell: from a database that answers already and soon, and without a word of complaint."""

import asyncio
from collections.abc import Awaitable, Callable

import typer

from bide import embedded
from bide.control.known import version_of
from bide.settings import load
from bide.store import control, reports
from bide.store.database import Database, connected
from bide.store.waits import WaitFilter, list_waits

WITHIN_SEC = 1.0
"""Somebody has pressed a key and waits."""
RUNS = 50

Names = Awaitable[list[str]]


def dags(context: typer.Context) -> list[str]:
    """List DAGs."""
    return known(context, control.dag_ids)


def runs(context: typer.Context) -> list[str]:
    """List the latest runs of the DAG that was named."""
    return known(context, lambda db: _runs(db, context.params["dag_id"]))


def tasks(context: typer.Context) -> list[str]:
    """List the tasks of the DAG that was named."""
    return known(context, lambda db: _tasks(db, context.params["dag_id"]))


def waits(context: typer.Context) -> list[str]:
    """List the numbers of the oldest waits."""
    return known(context, _waits)


def pools(context: typer.Context) -> list[str]:
    """List pools."""
    return known(context, _pools)


def variables(context: typer.Context) -> list[str]:
    """List the keys of variables."""
    return known(context, _variables)


def connections(context: typer.Context) -> list[str]:
    """List the ids of connections."""
    return known(context, _connections)


def known(context: typer.Context, ask: Callable[[Database], Names]) -> list[str]:
    """Ask the database for names. Whatever stands in the way, there is nothing to complete then."""
    try:
        return asyncio.run(_asked(context, ask))
    except Exception:
        return []


async def _asked(context: typer.Context, ask: Callable[[Database], Names]) -> list[str]:
    given: list[str] = context.find_root().params.get("given") or []
    settings = load(overrides=dict(item.split("=", 1) for item in given))
    server = embedded.found(settings.core.data_dir / "postgres")
    url = settings.database.url or (server.url if server else "")
    if not url:
        return []
    pooler = settings.database.pooler
    async with asyncio.timeout(WITHIN_SEC), connected(url, pool_size=1, pooler=pooler, patience_sec=WITHIN_SEC) as db:
        return await ask(db)


async def _runs(db: Database, dag_id: str) -> list[str]:
    return ["latest", *(run.run_id for run in await reports.list_runs(db, dag_id, None, None, RUNS))]


async def _tasks(db: Database, dag_id: str) -> list[str]:
    _, plan = await version_of(db, dag_id)
    return [task.task_id for task in plan.tasks]


async def _waits(db: Database) -> list[str]:
    page = await list_waits(db, WaitFilter(), 0, RUNS, RUNS)
    return [str(wait_id) for wait_id in sorted({line.id for line in page.lines})]


async def _pools(db: Database) -> list[str]:
    return [pool.name for pool in await control.pools(db)]


async def _variables(db: Database) -> list[str]:
    return list(await control.variables(db))


async def _connections(db: Database) -> list[str]:
    return [conn_id for conn_id, _, _ in await control.connections(db)]
