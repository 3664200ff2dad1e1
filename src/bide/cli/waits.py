"""`bide waits`: who waits for what, since when, until when, held by whom; and what a person may say about it."""

from datetime import timedelta
from typing import Annotated

import typer
from rich.console import Console

from bide.cli import completing, given, output, steering, wait_lines
from bide.cli.asking import INTERRUPTED
from bide.cli.clearing import Mark
from bide.cli.given import Limit, Yes
from bide.cli.output import As, Output
from bide.cli.session import Session, opened
from bide.cli.wait_filters import Meant, filtered
from bide.control import waiting
from bide.control.why import told
from bide.errors import Unknown
from bide.model.states import TaskState
from bide.store.waits import WaitFilter, WaitLine

app = typer.Typer(no_args_is_help=True, add_completion=False)

WaitId = Annotated[
    int | None,
    typer.Argument(
        metavar="WAIT", min=1, help="The number of a wait; else say which by options.", autocompletion=completing.waits
    ),
]
Why = Annotated[str, typer.Option("--why", help="For the history.")]


@app.command("list", epilog="Example: bide waits list --dag sales --watch")
@filtered
def list_waits(
    context: typer.Context,
    wanted: Meant,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it as it changes, until Ctrl-C.")] = False,
    after: Annotated[int, typer.Option("--after", metavar="WAIT", min=0, help="Only waits with later numbers.")] = 0,
    limit: Limit = 25,
    output_as: As = Output.TABLE,
) -> None:
    """List waits, the oldest first: overdue ones by their timeouts, unclaimed ones as they would be claimed."""
    with opened(context) as session:
        found = wanted(session)
        if watch:
            try:
                session.run(wait_lines.watch(lambda: waiting.page(session.db, found, after, limit), Console()))
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None
        page = session.run(waiting.page(session.db, found, after, limit))
    output.show(page.lines, wait_lines.COLUMNS, output_as, "There are no such waits.")
    if page.is_cut and output_as is Output.TABLE:
        on = f"--after {page.after} goes on, " if page.after is not None else ""
        output.note(f"There may be more; {on}--limit shows more at once.")


@app.command("show", epilog="Example: bide waits show 17")
def show(
    context: typer.Context,
    wait_id: Annotated[
        int, typer.Argument(metavar="WAIT", min=1, help="The number of a wait.", autocompletion=completing.waits)
    ],
    output_as: As = Output.TABLE,
) -> None:
    """Show one wait: for what, since when, until when, who holds it, and which tasks wait there."""
    with opened(context) as session:
        lines = the_wait(session, wait_id)
        one = lines[0]
        reason = session.run(told(session.db, one.dag_id, one.run_id, one.task_id, one.map_index))
    output.show_facts(lines, wait_lines.facts(lines, reason.sentence), output_as)


@app.command("fire", epilog="""Example: bide waits fire 17 --event '{"status": "success"}'""")
@filtered
def fire(
    context: typer.Context,
    wanted: Meant,
    wait_id: WaitId = None,
    event: Annotated[
        str | None,
        typer.Option("--event", metavar="JSON", help="What the task shall find as its event; @FILE reads it."),
    ] = None,
    why: Why = "",
    yes: Yes = False,
) -> None:
    """Let tasks go on as if what they wait for had come. What was begun outside is not stopped.

    Without an event a timer does what it would do at its date, and another task finds None.
    """
    encoded = None if event is None else waiting.encoded_event(given.text_or_file(event))
    with opened(context) as session:
        lines = chosen(session, wanted, wait_id)
        batches = waiting.fire(session.db, session.who, lines, encoded, why)
        steering.steer(session, lines, batches, "fire", "fired", yes)


@app.command("fail", epilog="Example: bide waits fail --class HttpTrigger --why 'the API is gone'")
@filtered
def fail(
    context: typer.Context,
    wanted: Meant,
    wait_id: WaitId = None,
    why: Annotated[str, typer.Option("--why", help="The words with which the tasks fail.")] = "failed by hand",
    yes: Yes = False,
) -> None:
    """Let waits have failed: their tasks try again while they have retries. What was begun outside is stopped."""
    with opened(context) as session:
        lines = chosen(session, wanted, wait_id)
        batches = waiting.fail(session.db, session.who, session.kill_patience, lines, why)
        steering.steer(session, lines, batches, "fail the wait of", "failed", yes)


@app.command("cancel", epilog="Example: bide waits cancel 17 --as skipped")
@filtered
def cancel(
    context: typer.Context,
    wanted: Meant,
    wait_id: WaitId = None,
    ending: Annotated[Mark, typer.Option("--as", help="What the task shall count as.")] = Mark.FAILED,
    why: Why = "",
    yes: Yes = False,
) -> None:
    """Let tasks wait no longer and count as done, without another try. What was begun outside is stopped.

    As `bide tasks mark` does, but only where a task still waits for what it is seen to wait for.
    """
    to_state = TaskState(ending.value)
    with opened(context) as session:
        lines = chosen(session, wanted, wait_id)
        batches = waiting.cancel(session.db, session.who, session.kill_patience, lines, to_state, why)
        steering.steer(session, lines, batches, f"cancel, as {to_state},", f"{to_state}", yes)


@app.command("extend", epilog="Example: bide waits extend --dag sales --by 2h")
@filtered
def extend(
    context: typer.Context,
    wanted: Meant,
    wait_id: WaitId = None,
    by: Annotated[
        timedelta | None,
        typer.Option("--by", parser=given.duration, metavar="TIME", help="For so much longer, such as 90s, 30m or 2h."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DATE", help="Until this moment, such as 2030-01-31T12:00.")
    ] = None,
    why: Why = "",
    yes: Yes = False,
) -> None:
    """Let waits time out later. Neither the execution_timeout of a try nor the timeout of a sensor is moved by that."""
    if (by is None) == (until is None):
        raise typer.BadParameter("say either --by or --until.")
    moment = None if until is None else given.moment(until)
    with opened(context) as session:
        lines = chosen(session, wanted, wait_id)
        steering.extend(session, list(waiting.extensions(lines, by, moment)), why, yes)


def chosen(session: Session, wanted: Meant, wait_id: int | None) -> list[WaitLine]:
    """Find the waits that something is to be said about; somebody must have said which."""
    found = wanted(session)
    if wait_id is not None:
        if found != WaitFilter():
            raise typer.BadParameter("say which by a number or by options, not by both.")
        return the_wait(session, wait_id)
    if found == WaitFilter():
        raise typer.BadParameter("say which: a number, or options such as --dag; --class '*' means all.")
    lines, more = session.run(waiting.every(session.db, found))
    if more:
        output.note(f"There are more; this is about the first {len(lines):,}. Say it again for the others.")
    return lines


def the_wait(session: Session, wait_id: int) -> list[WaitLine]:
    """Find one wait, with all tasks that share it."""
    lines, _ = session.run(waiting.every(session.db, WaitFilter(wait_id=wait_id)))
    if not lines:
        raise Unknown(
            f"There is no wait {wait_id}: it has ended, or never was. `bide waits list` shows those that are."
        )
    return lines
