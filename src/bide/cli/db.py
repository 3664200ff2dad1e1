"""`bide db`: bring the database to the shape that this program needs, see whether it has it, or make it anew."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, NamedTuple

import typer

from bide import embedded
from bide.cli.asking import must_be_wanted
from bide.cli.output import progress
from bide.errors import MigrationError
from bide.settings import Settings, load
from bide.settings.mask import mask
from bide.store import migrations

app = typer.Typer(
    help="Make, update and check the database: that of database.url, or else the embedded one.",
    no_args_is_help=True,
    add_completion=False,
)


class Place(NamedTuple):
    """A database, and what to call it before people."""

    url: str
    name: str


@app.command(epilog="Example: bide db migrate")
def migrate(context: typer.Context) -> None:
    """Make the database, or bring it up to date; may be interrupted and goes on where it stopped."""
    with place(load(overrides=context.obj)) as database:
        asyncio.run(migrate_at(database))


@app.command(epilog="Example: bide db check")
def check(context: typer.Context) -> None:
    """Say whether the database has the shape that this Bide needs: exit code 0 if so, 1 if not."""
    with place(load(overrides=context.obj)) as database:
        asyncio.run(check_at(database))


@app.command(epilog="Example: bide db reset --yes")
def reset(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Even while processes are at work on it.")] = False,
) -> None:
    """Drop the whole database, with every run and its history, and make it anew."""
    with place(load(overrides=context.obj)) as database:
        lost = asyncio.run(at_stake(database, force))
        if lost:
            must_be_wanted(f"A reset drops {lost} and everything else in {database.name}.", yes)
        asyncio.run(reset_at(database))


@contextmanager
def place(settings: Settings) -> Iterator[Place]:
    """Give the database of the settings; the embedded one runs for as long as it is needed."""
    if settings.database.url:
        yield Place(settings.database.url, f"the database {mask(settings.database.url)}")
        return
    folder = settings.core.data_dir / "postgres"
    starting = progress.status("Starting the embedded PostgreSQL server")
    if embedded.found(folder) is None:
        starting.start()
    try:
        with embedded.running(folder) as server:
            starting.stop()
            yield Place(server.url, f"the embedded database in {folder}")
    finally:
        starting.stop()


async def migrate_at(database: Place) -> None:
    """Apply what is missing, one after the other."""
    wanted = migrations.known()
    async with migrations.opened(database.url) as connection:
        for migration in await migrations.missing(connection, wanted):
            with progress.status(f"Applying {migration}"):
                done = await migrations.migrate(connection, migration, wanted)
            print(f"{migration}: {'done' if done else 'somebody else has just done it'}")
    print(f"{capitalised(database.name)} is up to date.")


async def check_at(database: Place) -> None:
    """Refuse the database if something is missing."""
    async with migrations.opened(database.url) as connection:
        missing = await migrations.missing(connection, migrations.known())
    if missing:
        names = ", ".join(str(migration) for migration in missing)
        raise MigrationError(f"{capitalised(database.name)} lacks {names}: run `bide db migrate`.")
    print(f"{capitalised(database.name)} is up to date.")


async def at_stake(database: Place, force: bool) -> str:
    """Say what a reset would lose, if anything, and refuse it where it would do harm."""
    async with migrations.opened(database.url) as connection:
        if not await migrations.is_made(connection):
            return ""
        at_work = await migrations.at_work(connection)
        if at_work and not force:
            raise MigrationError(f"At work on it: {', '.join(at_work)}. Stop them first, or use --force.")
        runs = await migrations.count_runs(connection)
    return "1 run" if runs == 1 else f"{runs:,} runs"


async def reset_at(database: Place) -> None:
    """Make the database anew."""
    wanted = migrations.known()
    async with migrations.opened(database.url) as connection:
        with progress.status("Making the database anew"):
            await migrations.reset(connection, wanted)
    print(f"{capitalised(database.name)} is as new.")


def capitalised(name: str) -> str:
    """Write a name as the first words of a sentence."""
    return name[0].upper() + name[1:]
