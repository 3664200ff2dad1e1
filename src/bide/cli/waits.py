"""`bide waits`: who waits for what, since when, until when, held by whom; and what a person may say about it."""

import re
from datetime import timedelta
from typing import Annotated

import typer
from rich.console import Console

from bide.cli import completing, given, output, steering, wait_lines
from bide.cli.asking import INTERRUPTED
from bide.cli.clearing import Mark
from bide.cli.finding import LATEST, find_run
from bide.cli.given import Limit, Yes
from bide.cli.output import As, Output
from bide.cli.session import Session, opened
from bide.control import waiting
from bide.control.known import tasks_of, version_of
from bide.control.why import told
from bide.errors import Unknown
from bide.model.states import TaskState
from bide.store.waits import WaitFilter, WaitLine

app = typer.Typer(no_args_is_help=True, add_completion=False)

Dag = Annotated[
    str | None, typer.Option("--dag", metavar="DAG", help="Only of this DAG.", autocompletion=completing.dags)
]
Run = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="RUN", help="Only of this run; `latest` needs --dag.", autocompletion=completing.runs
    ),
]
Task = Annotated[
    str | None, typer.Option("--task", metavar="TASK", help="Only of this task.", autocompletion=completing.tasks)
]
Queue = Annotated[str | None, typer.Option("--queue", help="Only of this queue of triggerers; '' means of none.")]
ClassPath = Annotated[
    str | None, typer.Option("--class", metavar="CLASS", help="Only for this class, such as HttpTrigger or 'my.*'.")
]
Triggerer = Annotated[
    int | None, typer.Option("--triggerer", metavar="NO", min=1, help="Only what this triggerer holds.")
]
Unclaimed = Annotated[bool, typer.Option("--unclaimed", help="Only those that nobody holds, and that are no timers.")]
Overdue = Annotated[bool, typer.Option("--overdue", help="Only those whose timeout has passed.")]
Parked = Annotated[bool, typer.Option("--parked", help="Only those that are put aside for a while.")]
WaitId = Annotated[
    int | None,
    typer.Argument(
        metavar="WAIT", min=1, help="The number of a wait; else say which by options.", autocompletion=completing.waits
    ),
]
Why = Annotated[str, typer.Option("--why", help="For the history.")]


def meant(
    session: Session,
    dag_id: str | None,
    run_id: str | None,
    task_id: str | None,
    queue: str | None,
    classpath: str | None,
    triggerer: int | None,
    unclaimed: bool,
    overdue: bool,
    parked: bool,
    wait_id: int | None = None,
) -> WaitFilter:
    """Put together which waits somebody means; a DAG and a run must be there."""
    if run_id == LATEST and dag_id is None:
        raise typer.BadParameter("say of which DAG, with --dag.", param_hint="--run latest")
    if run_id is not None and dag_id is not None:
        run_id = session.run(find_run(session.db, dag_id, run_id)).run_id
    elif dag_id is not None:
        _, plan = session.run(version_of(session.db, dag_id))
        if task_id is not None:
            tasks_of(plan, [task_id])
    return WaitFilter(
        dag_id=dag_id,
        run_id=run_id,
        task_id=task_id,
        queue=queue,
        classpath=None if classpath is None else pattern(classpath),
        triggerer_id=triggerer,
        unclaimed=unclaimed,
        overdue=overdue,
        parked=parked,
        wait_id=wait_id,
    )


def pattern(classpath: str) -> str:
    """Turn the name of a class, or a pattern with *, into a regular expression."""
    name = re.escape(classpath).replace(r"\*", ".*")
    return rf"(^|\.){name}$"


@app.command("list", epilog="Example: bide waits list --dag sales --watch")
def list_waits(
    context: typer.Context,
    dag_id: Dag = None,
    run_id: Run = None,
    task_id: Task = None,
    queue: Queue = None,
    classpath: ClassPath = None,
    triggerer: Triggerer = None,
    unclaimed: Unclaimed = False,
    overdue: Overdue = False,
    parked: Parked = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it as it changes, until Ctrl-C.")] = False,
    after: Annotated[int, typer.Option("--after", metavar="WAIT", min=0, help="Only waits with later numbers.")] = 0,
    limit: Limit = 25,
    output_as: As = Output.TABLE,
) -> None:
    """List waits, the oldest first: overdue ones by their timeouts, unclaimed ones as they would be claimed."""
    with opened(context) as session:
        wanted = meant(session, dag_id, run_id, task_id, queue, classpath, triggerer, unclaimed, overdue, parked)
        if watch:
            try:
                session.run(wait_lines.watch(lambda: waiting.page(session.db, wanted, after, limit), Console()))
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None
        page = session.run(waiting.page(session.db, wanted, after, limit))
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


@app.command("fire", epilog='Example: bide waits fire 17 --event \'{"status": "success"}\'')
def fire(
    context: typer.Context,
    wait_id: WaitId = None,
    event: Annotated[
        str | None,
        typer.Option("--event", metavar="JSON", help="What the task shall find as its event; @FILE reads it."),
    ] = None,
    dag_id: Dag = None,
    run_id: Run = None,
    task_id: Task = None,
    queue: Queue = None,
    classpath: ClassPath = None,
    triggerer: Triggerer = None,
    unclaimed: Unclaimed = False,
    overdue: Overdue = False,
    parked: Parked = False,
    why: Why = "",
    yes: Yes = False,
) -> None:
    """Let tasks go on as if what they wait for had come. What was begun outside is not stopped.

    Without an event a timer does what it would do at its date, and another task finds None.
    """
    encoded = None if event is None else waiting.encoded_event(given.text_or_file(event))
    with opened(context) as session:
        wanted = meant(
            session, dag_id, run_id, task_id, queue, classpath, triggerer, unclaimed, overdue, parked, wait_id
        )
        lines = chosen(session, wanted)
        batches = waiting.fire(session.db, session.who, lines, encoded, why)
        steering.steer(session, lines, batches, "fire", "fired", yes)


@app.command("fail", epilog="Example: bide waits fail --class HttpTrigger --why 'the API is gone'")
def fail(
    context: typer.Context,
    wait_id: WaitId = None,
    why: Annotated[str, typer.Option("--why", help="The words with which the tasks fail.")] = "failed by hand",
    dag_id: Dag = None,
    run_id: Run = None,
    task_id: Task = None,
    queue: Queue = None,
    classpath: ClassPath = None,
    triggerer: Triggerer = None,
    unclaimed: Unclaimed = False,
    overdue: Overdue = False,
    parked: Parked = False,
    yes: Yes = False,
) -> None:
    """Let waits have failed: their tasks try again while they have retries. What was begun outside is stopped."""
    with opened(context) as session:
        wanted = meant(
            session, dag_id, run_id, task_id, queue, classpath, triggerer, unclaimed, overdue, parked, wait_id
        )
        lines = chosen(session, wanted)
        batches = waiting.fail(session.db, session.who, session.kill_patience, lines, why)
        steering.steer(session, lines, batches, "fail the wait of", "failed", yes)


@app.command("cancel", epilog="Example: bide waits cancel 17 --as skipped")
def cancel(
    context: typer.Context,
    wait_id: WaitId = None,
    ending: Annotated[Mark, typer.Option("--as", help="What the task shall count as.")] = Mark.FAILED,
    dag_id: Dag = None,
    run_id: Run = None,
    task_id: Task = None,
    queue: Queue = None,
    classpath: ClassPath = None,
    triggerer: Triggerer = None,
    unclaimed: Unclaimed = False,
    overdue: Overdue = False,
    parked: Parked = False,
    why: Why = "",
    yes: Yes = False,
) -> None:
    """Let tasks wait no longer and count as done, without another try. What was begun outside is stopped.

    As `bide tasks mark` does, but only where a task still waits for what it is seen to wait for.
    """
    to_state = TaskState(ending.value)
    with opened(context) as session:
        wanted = meant(
            session, dag_id, run_id, task_id, queue, classpath, triggerer, unclaimed, overdue, parked, wait_id
        )
        lines = chosen(session, wanted)
        batches = waiting.cancel(session.db, session.who, session.kill_patience, lines, to_state, why)
        steering.steer(session, lines, batches, f"cancel, as {to_state},", f"{to_state}", yes)


@app.command("extend", epilog="Example: bide waits extend --dag sales --by 2h")
def extend(
    context: typer.Context,
    wait_id: WaitId = None,
    by: Annotated[
        timedelta | None,
        typer.Option("--by", parser=given.duration, metavar="TIME", help="For so much longer, such as 90s, 30m or 2h."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DATE", help="Until this moment, such as 2030-01-31T12:00.")
    ] = None,
    dag_id: Dag = None,
    run_id: Run = None,
    task_id: Task = None,
    queue: Queue = None,
    classpath: ClassPath = None,
    triggerer: Triggerer = None,
    unclaimed: Unclaimed = False,
    overdue: Overdue = False,
    parked: Parked = False,
    why: Why = "",
    yes: Yes = False,
) -> None:
    """Let waits time out later. Neither the execution_timeout of a try nor the timeout of a sensor is moved by that."""
    if (by is None) == (until is None):
        raise typer.BadParameter("say either --by or --until.")
    moment = None if until is None else given.moment(until)
    with opened(context) as session:
        wanted = meant(
            session, dag_id, run_id, task_id, queue, classpath, triggerer, unclaimed, overdue, parked, wait_id
        )
        lines = chosen(session, wanted)
        steering.extend(session, list(waiting.extensions(lines, by, moment)), why, yes)


def chosen(session: Session, wanted: WaitFilter) -> list[WaitLine]:
    """Find the waits that something is to be said about; somebody must have said which."""
    if wanted == WaitFilter():
        raise typer.BadParameter("say which: a number, or options such as --dag; --class '*' means all.")
    if wanted.wait_id is not None:
        return the_wait(session, wanted.wait_id)
    lines, more = session.run(waiting.every(session.db, wanted))
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
