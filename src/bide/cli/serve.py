"""`bide up` and the services one by one: long-running commands that stop on Ctrl-C or SIGTERM."""

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence

import typer
from msgspec.structs import replace
from rich.console import Console

from bide import keys
from bide.cli import first_dag
from bide.cli.db import Place, migrate_at, place
from bide.dagprocessor.service import DagProcessor
from bide.errors import MigrationError
from bide.process.program import Ground, Service, run
from bide.scheduler.service import SchedulerService
from bide.settings import Settings, load
from bide.store import migrations
from bide.store.wake import Channel
from bide.worker.service import Worker

Build = Callable[[Ground], Sequence[Service]]
FORMAT = "%(asctime)s %(levelname)-7s %(message)s"

say = Console(stderr=True, highlight=False, soft_wrap=True)


def up(context: typer.Context) -> None:
    """Run everything: the database, the DAG processor, a scheduler and a worker. Ctrl-C stops it all."""
    settings = load(overrides=context.obj)
    made = first_dag.write_if_none(settings.core.dags_dir)
    with place(settings) as database:
        asyncio.run(migrate_at(database))
        if made:
            say.print(f"There was no DAG yet, so {made} was written for you.")
        say.print(
            f"Bide is up. Edit what is in {settings.core.dags_dir}; `bide dags list` shows your DAGs. Ctrl-C stops."
        )
        channels = (Channel.SCHEDULER, Channel.WORKER, Channel.DAG_PROCESSOR)
        serve(settings, database, channels, lambda on: (DagProcessor(on), SchedulerService(on), Worker(on)))


def scheduler(context: typer.Context) -> None:
    """Run a scheduler; several may run at once, on this machine and on others."""
    alone(context, Channel.SCHEDULER, lambda on: (SchedulerService(on),))


def worker(context: typer.Context) -> None:
    """Run a worker, which runs tasks in children of its own."""
    alone(context, Channel.WORKER, lambda on: (Worker(on),))


def dag_processor(context: typer.Context) -> None:
    """Run a DAG processor, which turns the DAG files of this machine into plans."""
    alone(context, Channel.DAG_PROCESSOR, lambda on: (DagProcessor(on),))


def alone(context: typer.Context, channel: Channel, build: Build) -> None:
    """Run one service on a database that is up to date."""
    settings = load(overrides=context.obj)
    with place(settings) as database:
        asyncio.run(must_be_up_to_date(database))
        serve(settings, database, (channel,), build)


async def must_be_up_to_date(database: Place) -> None:
    """Refuse a database that lacks a migration: services of one version must not change it under those of another."""
    async with migrations.opened(database.url) as connection:
        missing = await migrations.missing(connection, migrations.known())
    if missing:
        raise MigrationError(f"The database lacks {missing[0]}: run `bide db migrate` first.")


def serve(settings: Settings, database: Place, channels: Sequence[Channel], build: Build) -> None:
    """Be a process of services until told to stop."""
    logging.basicConfig(level=settings.logging.level, format=FORMAT, stream=sys.stderr)
    security = replace(settings.security, keys=keys.keys(settings))
    run(replace(settings, security=security), database.url, channels, build)
