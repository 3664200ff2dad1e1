"""Asking a person before something is lost, and showing how far long work has come."""

import sys
from collections.abc import AsyncIterator, Callable

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bide.cli.output import note, progress
from bide.errors import Refusal

INTERRUPTED = 130
"""What a shell says of a program that Ctrl-C has ended."""


def must_be_wanted(warning: str, yes: bool) -> None:
    """Ask whether something shall be done, unless that was said already; nobody is asked where nobody can answer."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Refusal(f"{warning} Nobody is here to be asked: use --yes.")
    try:
        wanted = typer.confirm(f"{warning} Go on?")
    except typer.Abort:
        note("")
        raise typer.Exit(INTERRUPTED) from None
    if not wanted:
        print("Nothing was changed.")
        raise typer.Exit(1)


async def all_batches(
    doing: str, total: int, batches: AsyncIterator[int], size: int, done: Callable[[int], object]
) -> int:
    """Work through batches of a size before the eyes of a person; each one tells how much of it was new."""
    changed = 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=progress, transient=True, disable=not progress.is_terminal) as bar:
        line = bar.add_task(doing, total=total)
        async for number in batches:
            changed += number
            done(changed)
            bar.update(line, completed=min(total, bar.tasks[0].completed + size))
    return changed
