"""`bide triggers run`: one trigger alone in this process, with its events and its steps before one's eyes."""

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from bide.cli import given, words
from bide.cli.asking import INTERRUPTED
from bide.model.wait_over import Crashes
from bide.settings import load
from bide.testing.alone import LONG_SEC, Happened, Ran, Step, run_alone

app = typer.Typer(add_completion=False)

STEPS_SHOWN = 100
NOTABLE_SEC = 0.01


class Screen:
    """Shows what happens, line by line; of very many steps only those that take long."""

    def __init__(self) -> None:
        self._console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
        self._steps = 0

    def show(self, what: Step | Happened) -> None:
        """Show one thing."""
        at = Text(f"{what.at_sec:9.3f}s  ", "dim")
        if isinstance(what, Happened):
            self._console.print(Text.assemble(at, (words.plain(what.what), "bold")))
            return
        self._steps += 1
        if self._steps == STEPS_SHOWN + 1:
            self._console.print(Text(f"Of further steps only those of more than {NOTABLE_SEC * 1000:.0f}ms.", "dim"))
        if self._steps > STEPS_SHOWN and what.took_sec < NOTABLE_SEC:
            return
        took = f"step {what.number} held the loop for {words.seconds(what.took_sec)}"
        if what.took_sec < LONG_SEC:
            self._console.print(Text.assemble(at, took))
        else:
            where = f", at {what.where}" if what.where else ""
            self._console.print(Text.assemble(at, (f"{took}{where}: all other triggers would have to wait", "red")))


@app.command(epilog="""Example: bide triggers run my_package.FileTrigger '{"path": "data.csv"}'""")
def run(
    context: typer.Context,
    classpath: Annotated[
        str, typer.Argument(metavar="CLASSPATH", help="The path of its class; in a DAG file it begins with bide_dags.")
    ],
    kwargs: Annotated[
        str, typer.Argument(metavar="KWARGS", help="What it is made with, as a JSON object; @FILE reads it.")
    ] = "{}",
    every_event: Annotated[bool, typer.Option("--all", help="Go on after the first event, as for an asset.")] = False,
    within: Annotated[
        timedelta | None,
        typer.Option("--timeout", parser=given.duration, metavar="TIME", help="Stop it then, such as 30s."),
    ] = None,
) -> None:
    """Run one trigger alone: show its events, its steps, and for how long each step kept the event loop.

    It runs in this process, on the real clock, with nobody to ask for connections or variables. Ctrl-C lets it clean
    up. The exit code is 0 if it has yielded an event.
    """
    folder = load(overrides=context.obj).core.dags_dir.resolve()
    # As for `python -m`: what stands in this folder can be imported.
    sys.path.insert(0, os.getcwd())
    ran = run_alone(
        classpath,
        given.text_or_file(kwargs),
        Path(folder),
        Screen().show,
        every_event,
        None if within is None else within.total_seconds(),
    )
    tell(ran)
    if ran.over is None:
        raise typer.Exit(INTERRUPTED if within is None else 1)
    raise typer.Exit(1 if isinstance(ran.over, Crashes) else 0)


def tell(ran: Ran) -> None:
    """Sum it up."""
    steps = f"{words.count(ran.steps, 'step')}, {words.seconds(ran.busy_sec)} together"
    print(f"{steps}, the longest {words.seconds(ran.longest_sec)}.")
    if ran.over is None:
        print("It was stopped before it has yielded an event.")
