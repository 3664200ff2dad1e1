"""`bide up`: everything in one process, on a database that it brings along."""

import asyncio

import typer

from bide.cli import first_dag
from bide.cli.db import migrate_at, place
from bide.cli.serve import say, serve, service_settings
from bide.dagprocessor.service import DagProcessor
from bide.process.program import Ground, Service
from bide.scheduler.service import SchedulerService
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
        say.print(f"Bide is up. Your DAG files are in {settings.core.dags_dir}; `bide status` shows what goes on.")
        serve(settings, database, CHANNELS, every_service)


def every_service(on: Ground) -> tuple[Service, ...]:
    """Make one of each."""
    return DagProcessor(on), SchedulerService(on), Worker(on), Triggerer(on)
