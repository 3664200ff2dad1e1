"""`bide runs`: what runs there are, how far they are, and another go for them."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

from bide.cli import clearing, completing, output, watching, words
from bide.cli.asking import must_be_wanted
from bide.cli.finding import find_dag, find_run
from bide.cli.given import DagId, Limit, RunId, Yes
from bide.cli.output import As, Cell, Column, Output, progress
from bide.cli.session import opened
from bide.control import ending
from bide.control.selection import Meant
from bide.model.states import FINISHED_RUN, RunState
from bide.store import reports
from bide.store.reports import RunFacts, RunLine

app = typer.Typer(no_args_is_help=True, add_completion=False)

COLUMNS = (
    Column[RunLine]("dag", lambda run: run.dag_id),
    Column[RunLine]("run", lambda run: run.run_id),
    Column[RunLine]("state", lambda run: words.state(run.state)),
    Column[RunLine]("tasks", lambda run: how_far(run), right=True),
    Column[RunLine]("failed", lambda run: str(run.failed or ""), right=True),
    Column[RunLine]("began", lambda run: words.moment(run.start_date)),
    Column[RunLine]("took", lambda run: words.duration(run.duration), right=True),
    Column[RunLine]("by", lambda run: run.run_type),
)


@app.command("list", epilog="Example: bide runs list sales --state failed")
def list_runs(
    context: typer.Context,
    dag_id: Annotated[
        str | None, typer.Argument(metavar="DAG", help="The id of a DAG; else all.", autocompletion=completing.dags)
    ] = None,
    states: Annotated[list[RunState] | None, typer.Option("--state", help="Only those in this state.")] = None,
    limit: Limit = 25,
    output_as: As = Output.TABLE,
) -> None:
    """List runs, the newest first."""
    with opened(context) as session:
        if dag_id is not None:
            session.run(find_dag(session.db, dag_id))
        runs = session.run(reports.list_runs(session.db, dag_id, states or None, None, limit + 1))
    output.show(runs[:limit], COLUMNS, output_as, "There are no such runs.")
    output.note_more(len(runs), limit)


@app.command("show", epilog="Example: bide runs show sales latest")
def show(context: typer.Context, dag_id: DagId, run_id: RunId, output_as: As = Output.TABLE) -> None:
    """Show a run and how its tasks stand."""
    with opened(context) as session:
        run = session.run(find_run(session.db, dag_id, run_id))
        tasks = session.run(reports.run_progress(session.db, run.id))
        order = session.run(watching.task_order(session.db, run))
    everything = told(run) | {"tasks_by_state": tasks}
    if output.show_facts(everything, facts(run), output_as):
        output.heading("Tasks")
        output.print_wide(output.table(watching.lines(order, tasks), watching.COLUMNS))


@app.command("watch", epilog="Example: bide runs watch sales latest")
def watch(context: typer.Context, dag_id: DagId, run_id: RunId) -> None:
    """Watch a run until it ends. The exit code is 0 if it succeeded and 1 if it failed.

    At a terminal its tasks are shown as they go; elsewhere each change is a line.
    """
    with opened(context) as session:
        run = session.run(find_run(session.db, dag_id, run_id))
        ended = watching.watch(session, run, Console())
    raise typer.Exit(0 if ended is RunState.SUCCESS else 1)


@app.command("clear", epilog="Example: bide runs clear sales latest --only-failed")
def clear(
    context: typer.Context,
    dag_id: DagId,
    run_id: RunId,
    past: clearing.Past = False,
    future: clearing.Future = False,
    only_failed: clearing.OnlyFailed = False,
    only_running: clearing.OnlyRunning = False,
    yes: Yes = False,
) -> None:
    """Let all tasks of a run run again, or only those that failed."""
    with opened(context) as session:
        run = session.run(find_run(session.db, dag_id, run_id))
        states = clearing.states(only_failed, only_running)
        meant = Meant(dag_id=dag_id, run_id=run.run_id, past=past, future=future, states=states)
        clearing.clear(session, meant, yes)


@app.command("mark", epilog="Example: bide runs mark sales latest success")
def mark(context: typer.Context, dag_id: DagId, run_id: RunId, state: clearing.RunMark, yes: Yes = False) -> None:
    """End a run as a success or a failure, and stop what it is doing.

    As a success, its unfinished tasks and failed ends count as done.

    As failed, what runs or waits fails with it, and what has not begun is skipped.
    """
    to_state = RunState(state.value)
    with opened(context) as session:
        run = session.run(find_run(session.db, dag_id, run_id))
        marked = session.run(ending.to_be_marked(session.db, run, to_state))
        tasks = words.count(sum(len(ids) for ids in marked.values()), "task")
        if run.state is not to_state:
            must_be_wanted(f"This ends the run {run.run_id} of {dag_id} as {to_state}, and marks {tasks}.", yes)
        with progress.status(f"Marking {tasks}"):
            session.run(ending.end_run(session.db, session.who, session.kill_patience, run, to_state))
        session.hint(*clearing.CONCERNED)
    print(f"{dag_id} {run.run_id}: {f'was {to_state} already' if run.state is to_state else to_state}")


def how_far(run: RunLine | RunFacts) -> str:
    """Say how many of a run's tasks have ended."""
    return f"{run.ended:,}/{run.tasks:,}"


def told(run: RunFacts) -> dict[str, Any]:
    """Tell programs what is known of a run."""
    return msgspec.structs.asdict(run) | {"conf": None if run.conf is None else msgspec.json.decode(run.conf)}


def facts(run: RunFacts) -> Iterator[tuple[str, Cell]]:
    """Tell people what is known of a run."""
    yield "run", f"{run.dag_id} {run.run_id}"
    yield "state", words.state(run.state)
    if run.is_paused and run.state not in FINISHED_RUN:
        yield "paused", f"the DAG is paused; `bide dags unpause {run.dag_id}` lets it go on"
    yield "launched", f"{run.run_type}, {words.moment(run.queued_at)}"
    yield "logical date", words.moment(run.logical_date)
    if run.data_interval_start != run.data_interval_end:
        yield "data of", f"{words.moment(run.data_interval_start)} to {words.moment(run.data_interval_end)}"
    yield "began", words.moment(run.start_date)
    yield "ended", words.moment(run.end_date)
    yield "took", words.duration(run.duration)
    yield "times out", words.moment(run.timeout_at)
    yield "version", str(run.version or "")
    yield "conf", words.plain(run.conf)
    yield "note", words.plain(run.note)
    yield "tasks", f"{how_far(run)} ended, {run.failed:,} failed" if run.failed else f"{how_far(run)} ended"
