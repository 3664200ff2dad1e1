"""`bide up`: everything in one process, on a database that it brings along."""

import asyncio
import os
import socket

import typer

from bide.cli import first_dag, words
from bide.cli.db import Place, migrate_at, place
from bide.cli.serve import say, serve, service_settings
from bide.dagprocessor.service import DagProcessor
from bide.process.program import Ground, Service
from bide.scheduler.service import SchedulerService
from bide.store import situation
from bide.store.database import connected
from bide.store.wake import Channel
from bide.triggerer.service import Triggerer
from bide.worker.service import Worker

app = typer.Typer(add_completion=False)
CHANNELS = (Channel.SCHEDULER, Channel.WORKER, Channel.TRIGGERER, Channel.DAG_PROCESSOR)


@app.command(epilog="Example: bide up")
def up(context: typer.Context) -> None:
    """Run everything: the database, the DAG processor, a scheduler, a worker and a triggerer. Ctrl-C stops it all."""
    settings = service_settings(context.obj)
    made = first_dag.write_if_none(settings.core.dags_dir)
    with place(settings) as database:
        asyncio.run(migrate_at(database))
        if made:
            say.print(f"There was no DAG yet, so {made} was written for you.")
        if others := asyncio.run(processes_here(database, settings.database.pooler)):
            say.print(
                f"Bide is up here already, in {words.count(len(others), 'other process', 'other processes')} "
                f"({', '.join(map(str, others))}); they share the work with this one."
            )
        say.print(f"Bide is up. Your DAG files are in {settings.core.dags_dir}; `bide status` shows what goes on.")
        serve(settings, database, CHANNELS, every_service)


async def processes_here(database: Place, pooler: bool) -> list[int]:
    """List the processes of this machine that are at work on a database."""
    async with connected(database.url, pool_size=1, pooler=pooler) as db:
        services = await situation.list_services(db)
    here = {one.pid for one in services if one.is_alive and one.hostname == socket.gethostname() and one.pid}
    return sorted(pid for pid in here if is_there(pid))


def is_there(pid: int) -> bool:
    """Tell whether a process is there; one that was killed counts as alive until its heartbeat is late."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def every_service(on: Ground) -> tuple[Service, ...]:
    """Make one of each."""
    return DagProcessor(on), SchedulerService(on), Worker(on), Triggerer(on)
