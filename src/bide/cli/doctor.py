"""`bide doctor`: what is wrong with this installation, and what to do about it."""

import asyncio
from collections.abc import Iterator

import typer

from bide.cli import checks, output, words
from bide.cli.checks import Finding, Level
from bide.cli.db import place
from bide.cli.output import As, Column, Output
from bide.errors import BideError
from bide.settings import load

app = typer.Typer(add_completion=False)

COLUMNS = (
    Column[Finding]("check", lambda one: one.check),
    Column[Finding]("", lambda one: words.state(one.level)),
    Column[Finding]("found", lambda one: words.plain(one.found)),
    Column[Finding]("what to do", lambda one: words.plain(one.advice)),
)


@app.command(epilog="Example: bide doctor")
def doctor(context: typer.Context, output_as: As = Output.TABLE) -> None:
    """Check settings, disk, DAG files, key and database, and say what to do. The exit code is 1 if something fails."""
    found = list(examined(context.obj))
    output.show(found, COLUMNS, output_as, "Nothing was checked.")
    if any(one.level is Level.FAIL for one in found):
        raise typer.Exit(1)


def examined(overrides: dict[str, str]) -> Iterator[Finding]:
    """Make all checks; where one tells that others make no sense, those are left out."""
    try:
        settings = load(overrides=overrides)
    except BideError as error:
        yield checks.fail("settings", str(error), "correct it; nothing else was checked")
        return
    yield from checks.of_machine(settings, overrides)
    if missing := checks.must_be_made(settings):
        yield missing
        return
    try:
        with place(settings) as database:
            found = asyncio.run(checks.of_database(settings, database))
    except BideError as error:
        yield checks.fail("database", str(error), "nothing else was checked of it")
        return
    yield from found
