"""`bide dags`: what DAGs there are, what they look like, and runs of them."""

from datetime import datetime
from types import MappingProxyType
from typing import Annotated

import msgspec
import typer

from bide.cli import completing, given, output, watching, words
from bide.cli.dag_page import show_dag
from bide.cli.finding import find_dag, find_run
from bide.cli.given import DagId, Limit
from bide.cli.lazy import LazyGroup
from bide.cli.output import As, Column, Output, progress
from bide.cli.runs import COLUMNS as RUN_COLUMNS
from bide.cli.session import Session, opened
from bide.control import launching
from bide.control.known import DAGS_SHOWN
from bide.errors import Refusal
from bide.model.states import RunState
from bide.store import control, reports
from bide.store.reports import DagLine, ImportFailure
from bide.store.wake import Channel


class DagCommands(LazyGroup):
    """Those that need what DAG files are written with are brought in when somebody says them."""

    package, prefix = "bide.cli", "dags_"
    table = MappingProxyType({"test": "Try a DAG out in this process, with a clock that makes nobody wait."})


app = typer.Typer(cls=DagCommands, no_args_is_help=True, add_completion=False)

MOST = 10_000
RUNS_SHOWN = 5
Patterns = Annotated[
    list[str],
    typer.Argument(metavar="DAG", help="Ids of DAGs, or patterns such as 'etl_*'.", autocompletion=completing.dags),
]

COLUMNS = (
    Column[DagLine]("dag", lambda dag: dag.dag_id),
    Column[DagLine]("is", lambda dag: standing(dag)),
    Column[DagLine]("schedule", lambda dag: dag.schedule),
    Column[DagLine]("next run", lambda dag: "" if dag.is_paused else words.moment(dag.next_run_at)),
    Column[DagLine]("runs", lambda dag: words.states(at_work(dag))),
    Column[DagLine]("last run", lambda dag: words.state(dag.last_state)),
    Column[DagLine]("owner", lambda dag: words.plain(dag.owners)),
    Column[DagLine]("tags", lambda dag: ", ".join(dag.tags)),
    Column[DagLine]("file", lambda dag: dag.fileloc or ""),
)
ERROR_COLUMNS = (
    Column[ImportFailure]("file", lambda error: error.fileloc),
    Column[ImportFailure]("since", lambda error: words.moment(error.at)),
    Column[ImportFailure]("error", lambda error: words.plain(error.error)),
)


@app.command("list", epilog="Example: bide dags list 'etl_*' --tag daily")
def list_dags(
    context: typer.Context,
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="DAG", help="Ids or patterns; else all.", autocompletion=completing.dags),
    ] = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Only those with this tag.")] = None,
    gone: Annotated[bool, typer.Option("--gone", help="Those that are in no file any more.")] = False,
    limit: Limit = 100,
    output_as: As = Output.TABLE,
) -> None:
    """List DAGs with their schedules and latest runs."""
    with opened(context) as session:
        found = session.run(meant(session, patterns, gone)) if patterns else None
        dags = session.run(reports.list_dags(session.db, found, tag, gone, "", limit + 1))
    output.show(dags[:limit], COLUMNS, output_as, "There are none. Files with errors are shown by `bide dags errors`.")
    output.note_more(len(dags), limit)


@app.command("show", epilog="Example: bide dags show sales")
def show(
    context: typer.Context,
    dag_id: DagId,
    source: Annotated[bool, typer.Option("--source", help="Print its file as it was read.")] = False,
    output_as: As = Output.TABLE,
) -> None:
    """Show a DAG: when it runs, its params, its tasks, its latest runs."""
    with opened(context) as session:
        dag = session.run(find_dag(session.db, dag_id))
        runs = session.run(reports.list_runs(session.db, dag_id, None, None, RUNS_SHOWN))
    if source:
        print(dag.source or "")
    else:
        show_dag(dag, runs, RUN_COLUMNS, output_as)


@app.command("trigger", epilog="""Example: bide dags trigger sales --conf '{"day": "2030-01-31"}' --wait""")
def trigger(
    context: typer.Context,
    dag_id: DagId,
    conf: Annotated[str, typer.Option("--conf", help="The params of the run, as a JSON object; @file reads it.")] = "",
    run_id: Annotated[str | None, typer.Option("--run-id", help="What to call the run.", show_default=False)] = None,
    logical_date: Annotated[
        datetime | None,
        typer.Option("--logical-date", parser=given.moment, metavar="DATE", help="Else now; UTC unless it has a zone."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Watch the run; its end decides the exit code.")] = False,
    output_as: As = Output.TABLE,
) -> None:
    """Launch a run of a DAG."""
    params = read_conf(conf)
    with opened(context) as session:
        launched = session.run(
            launching.launch(session.db, session.who, dag_id, run_id=run_id, logical_date=logical_date, conf=params)
        )
        if launched is None:
            called = f"called {run_id!r}" if run_id else "of that date"
            raise Refusal(f"DAG {dag_id!r} has a run {called} already; give another --run-id or clear that run.")
        session.hint(Channel.SCHEDULER)
        run = session.run(find_run(session.db, dag_id, launched.run_id))
        if output_as is Output.TABLE:
            print(run.run_id)
        else:
            output.tell({"dag_id": dag_id, "run_id": run.run_id, "logical_date": run.logical_date}, output_as)
        if run.is_paused:
            output.note(f"The DAG is paused, so the run waits: `bide dags unpause {dag_id}` lets it begin.")
        ended = watching.watch(session, run, progress) if wait else RunState.SUCCESS
    raise typer.Exit(0 if ended is RunState.SUCCESS else 1)


@app.command("pause", epilog="Example: bide dags pause 'etl_*'")
def pause(context: typer.Context, dag_ids: Patterns) -> None:
    """Let DAGs launch no runs and start no tasks. What runs comes to its end."""
    set_paused(context, dag_ids, True)


@app.command("unpause", epilog="Example: bide dags unpause sales")
def unpause(context: typer.Context, dag_ids: Patterns) -> None:
    """Let paused DAGs go on."""
    set_paused(context, dag_ids, False)


@app.command("errors", epilog="Example: bide dags errors etl/sales.py")
def errors(
    context: typer.Context,
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE", help="Files or patterns; else all.")] = None,
    limit: Limit = 100,
    output_as: As = Output.TABLE,
) -> None:
    """Show the DAG files that cannot be used as they are, and why; of files that are named the traceback too."""
    with opened(context) as session:
        found = session.run(reports.list_import_errors(session.db, "", MOST))
    if files:
        named = given.matching(files, [error.fileloc for error in found], "file with errors", "`bide dags errors`.")
        found = [error for error in found if error.fileloc in named]
    output.show(found[:limit], ERROR_COLUMNS, output_as, "Every DAG file can be used.")
    output.note_more(len(found), limit)
    if files and output_as is Output.TABLE:
        for error in (error for error in found[:limit] if error.traceback):
            output.heading(error.fileloc)
            print(words.plain(error.traceback))


def set_paused(context: typer.Context, patterns: list[str], is_paused: bool) -> None:
    """Pause DAGs or let them go on."""
    state = "paused" if is_paused else "active"
    with opened(context) as session:
        found = given.matching(patterns, session.run(control.dag_ids(session.db)), "DAG", DAGS_SHOWN)
        changed = session.run(control.set_paused(session.db, found, is_paused))
        session.hint(Channel.SCHEDULER)
    for dag_id in found:
        print(f"{dag_id}: {state if dag_id in changed else f'was {state} already'}")


async def meant(session: Session, patterns: list[str], gone: bool) -> list[str]:
    """Find the DAGs that are meant."""
    if not gone:
        return given.matching(patterns, await control.dag_ids(session.db), "DAG", DAGS_SHOWN)
    there = await reports.list_dags(session.db, None, None, True, "", MOST)
    return given.matching(patterns, [dag.dag_id for dag in there], "DAG that is gone", "`bide dags list --gone`.")


def read_conf(text: str) -> str | None:
    """Read the params of a run, as JSON."""
    if not text:
        return None
    return msgspec.json.encode(given.json_object(given.text_or_file(text), "--conf")).decode()


def standing(dag: DagLine) -> str:
    """Say in a word how a DAG stands."""
    if dag.gone_at is not None:
        return "gone"
    return ("paused" if dag.is_paused else "active") + (", broken" if dag.is_broken else "")


def at_work(dag: DagLine) -> list[tuple[str, int]]:
    """Count the runs that are not over."""
    return [(state, number) for state, number in (("queued", dag.queued_runs), ("running", dag.running_runs)) if number]
