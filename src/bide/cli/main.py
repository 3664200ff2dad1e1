"""The program `bide`: its global options, and how it ends."""

import os
import re
import sys
from types import MappingProxyType
from typing import Annotated

import typer
from rich.console import Console

from bide import __version__
from bide.cli.lazy import LazyGroup
from bide.errors import BideError

# What comes before the sign may be a secret that somebody forgot to name, so it is looked at before it is repeated.
ASSIGNMENT = re.compile(r"([a-z_.]+)=(.*)", re.DOTALL)

WRONG_USAGE = 2
"""What a shell is told of a command that makes no sense."""


class Commands(LazyGroup):
    """What `bide` can do."""

    package = "bide.cli"
    table = MappingProxyType(
        {
            "up": "Run everything: the database, the DAG processor, a scheduler, a worker and a triggerer.",
            "demo": "Watch a DAG run, in a folder of its own.",
            "status": "Show what runs, who works, and what is stuck.",
            "dags": "Look at DAGs, launch runs of them, pause them.",
            "runs": "Look at runs, watch them, clear and mark them.",
            "tasks": "Look at tasks and their logs, clear and mark them.",
            "why": "Say why a task is where it is, and what will move it.",
            "waits": "Look at what tasks wait for, and fire, fail, extend or cancel waits.",
            "triggers": "Look at the busiest triggers, or run one alone.",
            "savings": "Show the worker time that waiting for free has saved.",
            "pools": "Limit how many tasks run at the same time.",
            "variables": "Keep values that tasks read; they are stored encrypted.",
            "connections": "Keep how tasks reach other systems; they are stored encrypted.",
            "keys": "Make keys, and seal anew what is stored with old ones.",
            "config": "Show every setting, its value, and where it came from.",
            "doctor": "Check settings, key, database, clock and disk, and say what to do.",
            "db": "Make, update and check the database.",
            "scheduler": "Run a scheduler.",
            "worker": "Run a worker, which runs tasks.",
            "triggerer": "Run a triggerer, which waits on behalf of deferred tasks.",
            "dag-processor": "Run a DAG processor, which turns DAG files into plans.",
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
    found = [ASSIGNMENT.fullmatch(item) for item in given or []]
    if None in found:
        raise typer.BadParameter("write section.key=value.", param_hint="--set")
    context.obj = {match[1]: match[2] for match in found if match}


def main() -> None:
    """Run the command that was asked for, and end as a program should."""
    if any(not is_text(word) for word in sys.argv):
        complain("One of these words is not UTF-8 text; see in which encoding your terminal or your script writes.")
        sys.exit(WRONG_USAGE)
    try:
        try:
            app(prog_name="bide")
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except BideError as error:
        complain(str(error))
    except BrokenPipeError:
        # Nobody reads any more, as in `bide config | head`: no fault, and nobody to tell.
        give_up_output()
    except OSError as error:
        give_up_output()
        complain(f"The system refused: {error}.")
    sys.exit(1)


def is_text(word: str) -> bool:
    """Say whether a word came as text: nothing else can be stored, or looked for."""
    return not any("\ud800" <= sign <= "\udfff" for sign in word)


def complain(sentence: str) -> None:
    """Say what went wrong, to a person."""
    Console(stderr=True, soft_wrap=True, highlight=False).print("Error:", sentence, markup=False)


def give_up_output() -> None:
    """Let what is still unwritten go nowhere, or Python would try it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
