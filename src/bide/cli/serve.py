"""What the long-running commands share: services that run until Ctrl-C or SIGTERM."""

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext

import typer
from msgspec.structs import replace
from rich.console import Console

from bide import keys
from bide.cli.db import Place, place
from bide.embedded.keeping import kept
from bide.errors import MigrationError, SettingsError
from bide.process.program import Ground, Service, run
from bide.settings import Settings, load
from bide.settings.declared import SETTINGS
from bide.store import migrations
from bide.store.wake import Channel

Build = Callable[[Ground], Sequence[Service]]
FORMAT = "%(asctime)s %(levelname)-7s %(message)s"

say = Console(stderr=True, highlight=False, soft_wrap=True)


def alone(context: typer.Context, channel: Channel, build: Build) -> None:
    """Run one service on a database that is up to date."""
    settings = service_settings(context.obj)
    with place(settings) as database:
        asyncio.run(must_be_up_to_date(database))
        serve(settings, database, (channel,), build)


def service_settings(overrides: Mapping[str, str]) -> Settings:
    """Load the settings of a process below which other people's code runs: its command line must hold no secret."""
    for name in overrides.keys() & SETTINGS.keys():
        if SETTINGS[name].about.secret:
            raise SettingsError(
                f"{name} is secret, and tasks can read the command line of this process: give it as "
                f"{SETTINGS[name].variable} in the environment."
            )
    return load(overrides=overrides)


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
    with kept(settings.core.data_dir / "postgres") if not settings.database.url else nullcontext():
        run(replace(settings, security=security), database.url, channels, build)
