"""The program `bide`: its global options, and how it ends."""

import os
import sys
from types import MappingProxyType
from typing import Annotated

import typer
from rich.console import Console

from bide import __version__
from bide.cli.lazy import LazyGroup
from bide.errors import BideError

INTERRUPTED = 130
"""What a shell says of a program that Ctrl-C has ended."""


class Commands(LazyGroup):
    """What `bide` can do."""

    package = "bide.cli"
    table = MappingProxyType(
        {
            "status": "Show what runs, who works, and what is stuck.",
            "dags": "Look at DAGs, launch runs of them, pause them.",
            "runs": "Look at runs, watch them, clear and mark them.",
            "tasks": "Look at tasks and their logs, clear and mark them.",
            "pools": "Limit how many tasks run at the same time.",
            "variables": "Keep values that tasks read; they are stored encrypted.",
            "connections": "Keep how tasks reach other systems; they are stored encrypted.",
            "config": "Show every setting, its value, and where it came from.",
            "doctor": "Check settings, key, database, clock and disk, and say what to do.",
            "db": "Make, update and check the database.",
        }
    )


app = typer.Typer(
    name="bide",
    cls=Commands,
    help="A workflow engine in which waiting is free.",
    epilog="Settings come from bide.toml, the environment and --set; `bide config` shows them all.",
    no_args_is_help=True,
    # Its tracebacks show the values of variables, and those may be secret.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Say which Bide this is, and no more."""
    if wanted:
        print(f"bide {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Set this for once; as often as you like."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=show_version, help="Say which Bide this is.")
    ] = False,
) -> None:
    """Keep what was set on the command line for the commands, which load the settings."""
    for item in given or []:
        if "=" not in item:
            raise typer.BadParameter(f"write section.key=value, not {item!r}.", param_hint="--set")
    context.obj = dict(item.split("=", 1) for item in given or [])


def main() -> None:
    """Run the command that was asked for, and end as a program should."""
    try:
        app(prog_name="bide")
    except BideError as error:
        Console(stderr=True, soft_wrap=True, highlight=False).print("Error:", str(error), markup=False)
        sys.exit(1)
    finally:
        leave_quietly()


def leave_quietly() -> None:
    """Write what is still unwritten. If nobody reads it any more, as in `bide config | head`, that is no fault."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
