"""`bide triggers`: the busiest of those that run, and one run alone while it is being written."""

import asyncio
from types import MappingProxyType
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from bide.cli import output, words
from bide.cli.asking import INTERRUPTED
from bide.cli.given import Limit
from bide.cli.lazy import LazyGroup
from bide.cli.output import As, Column, Output
from bide.cli.session import opened
from bide.errors import Refusal
from bide.store.database import Database
from bide.store.usage import BusyTrigger, busiest_triggers

LOOK_EVERY_SEC = 2.0


class TriggerCommands(LazyGroup):
    """Those that need what triggers are written with are brought in when somebody says them."""

    package, prefix = "bide.cli", "triggers_"
    table = MappingProxyType({"run": "Run one trigger alone, and show its events and its steps."})


app = typer.Typer(cls=TriggerCommands, no_args_is_help=True, add_completion=False)

COLUMNS = (
    Column[BusyTrigger]("wait", lambda one: str(one.trigger_id), right=True),
    Column[BusyTrigger]("trigger", lambda one: words.plain(one.classpath.rpartition(".")[2])),
    Column[BusyTrigger]("busy", lambda one: words.seconds(one.busy_sec), right=True),
    Column[BusyTrigger]("steps", lambda one: f"{one.steps:,}", right=True),
    Column[BusyTrigger]("longest", lambda one: words.seconds(one.longest_sec), right=True),
    Column[BusyTrigger]("strikes", lambda one: str(one.strikes or ""), right=True),
    Column[BusyTrigger]("dag", lambda one: one.dag_id or ""),
    Column[BusyTrigger]("task", lambda one: task_of(one)),
    Column[BusyTrigger]("triggerer", lambda one: str(one.triggerer_id), right=True),
    Column[BusyTrigger]("pid", lambda one: str(one.runner_pid or ""), right=True),
    Column[BusyTrigger]("harm", lambda one: words.shortened(one.evidence, 200)),
)


@app.callback()
def triggers() -> None:
    """Look at the busiest triggers, or run one alone."""


@app.command("top", epilog="Example: bide triggers top --watch")
def top(
    context: typer.Context,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it as it changes, until Ctrl-C.")] = False,
    limit: Limit = 25,
    output_as: As = Output.TABLE,
) -> None:
    """Show the triggers that use most of the event loops they run on; those that have harmed others come first.

    Triggerers tell of their busiest every few seconds. A trigger that only waits is not among them.
    """
    with opened(context) as session:
        if watch:
            try:
                session.run(live(session.db, limit, Console()))
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None
        found = session.run(busiest_triggers(session.db, limit))
    output.show(found, COLUMNS, output_as, "No trigger has used anything worth telling.")


async def live(db: Database, limit: int, console: Console) -> None:
    """Show a table that moves."""
    if not console.is_terminal:
        raise Refusal("--watch needs a terminal; programs say `bide triggers top --output json` again and again.")
    with Live(console=console, auto_refresh=False, screen=True) as screen:
        while True:
            screen.update(output.table(await busiest_triggers(db, limit), COLUMNS), refresh=True)
            await asyncio.sleep(LOOK_EVERY_SEC)


def task_of(one: BusyTrigger) -> str:
    """Name the task that waits for it."""
    if one.task_id is None:
        return ""
    return one.task_id if one.map_index is None or one.map_index < 0 else f"{one.task_id} [{one.map_index}]"
