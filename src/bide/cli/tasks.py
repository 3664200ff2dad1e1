"""`bide tasks`: the tasks of a DAG, what became of one of them, its logs, and another go for it."""

from types import MappingProxyType
from typing import Annotated

import typer

from bide.cli import clearing, completing, logs, output
from bide.cli.dag_page import TASK_COLUMNS, in_order
from bide.cli.finding import find_run, find_task
from bide.cli.given import DagId, MapIndex, RunId, TaskId, Yes
from bide.cli.lazy import LazyGroup
from bide.cli.output import As, Output
from bide.cli.session import opened
from bide.cli.story import show_story, story
from bide.control.known import version_of
from bide.control.selection import Meant
from bide.model.states import TaskState


class TaskCommands(LazyGroup):
    """Those that need what DAG files are written with are brought in when somebody says them."""

    package, prefix = "bide.cli", "tasks_"
    table = MappingProxyType({"test": "Try one task out in this process, without those before it."})


app = typer.Typer(cls=TaskCommands, no_args_is_help=True, add_completion=False)

Tasks = Annotated[
    list[str] | None,
    typer.Argument(metavar="TASK", help="Ids of tasks; none means all.", autocompletion=completing.tasks),
]


@app.command("list", epilog="Example: bide tasks list sales --output yaml")
def list_tasks(context: typer.Context, dag_id: DagId, output_as: As = Output.TABLE) -> None:
    """List the tasks of a DAG, each after those that it waits for."""
    with opened(context) as session:
        _, plan = session.run(version_of(session.db, dag_id))
    output.show(in_order(plan), TASK_COLUMNS, output_as, f"The DAG {dag_id} has no tasks.")


@app.command("show", epilog="Example: bide tasks show sales latest load")
def show(
    context: typer.Context,
    dag_id: DagId,
    run_id: RunId,
    task_id: TaskId,
    map_index: MapIndex = None,
    output_as: As = Output.TABLE,
) -> None:
    """Show what became of a task in a run: its state, its legs and what they used, its XComs, its history."""
    with opened(context) as session:
        told = session.run(story(session.db, dag_id, run_id, task_id, map_index))
    show_story(told, output_as)


@app.command("logs", epilog="Example: bide tasks logs sales latest load --follow")
def show_logs(
    context: typer.Context,
    dag_id: DagId,
    run_id: RunId,
    task_id: TaskId,
    map_index: MapIndex = None,
    try_number: Annotated[int | None, typer.Option("--try", min=1, help="Of this try; else the latest one.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until the task ends.")] = False,
) -> None:
    """Print the log of a task."""
    with opened(context) as session:
        task = session.run(find_task(session.db, dag_id, run_id, task_id, map_index))
        session.run(logs.print_log(session.db, task, try_number, follow))


@app.command("clear", epilog="Example: bide tasks clear sales latest load --downstream")
def clear(
    context: typer.Context,
    dag_id: DagId,
    run_id: RunId,
    task_ids: Tasks = None,
    upstream: clearing.Upstream = False,
    downstream: clearing.Downstream = False,
    past: clearing.Past = False,
    future: clearing.Future = False,
    only_failed: clearing.OnlyFailed = False,
    only_running: clearing.OnlyRunning = False,
    map_indexes: clearing.MapIndexes = None,
    yes: Yes = False,
) -> None:
    """Let tasks run again, with all their retries. What of them runs or waits is stopped."""
    with opened(context) as session:
        run = session.run(find_run(session.db, dag_id, run_id))
        meant = Meant(
            dag_id=dag_id,
            run_id=run.run_id,
            task_ids=tuple(task_ids or ()),
            map_indexes=tuple(map_indexes or ()),
            upstream=upstream,
            downstream=downstream,
            past=past,
            future=future,
            states=clearing.states(only_failed, only_running),
        )
        clearing.clear(session, meant, yes)


@app.command("mark", epilog="Example: bide tasks mark sales latest load success")
def mark(
    context: typer.Context,
    dag_id: DagId,
    run_id: RunId,
    task_id: TaskId,
    state: Annotated[
        clearing.Mark, typer.Argument(metavar="STATE", help="What it shall count as.", show_default=False)
    ],
    upstream: clearing.Upstream = False,
    downstream: clearing.Downstream = False,
    past: clearing.Past = False,
    future: clearing.Future = False,
    map_indexes: clearing.MapIndexes = None,
    yes: Yes = False,
) -> None:
    """Let a task count as done, failed or skipped. What of it runs or waits is stopped."""
    with opened(context) as session:
        run = session.run(find_run(session.db, dag_id, run_id))
        meant = Meant(
            dag_id=dag_id,
            run_id=run.run_id,
            task_ids=(task_id,),
            map_indexes=tuple(map_indexes or ()),
            upstream=upstream,
            downstream=downstream,
            past=past,
            future=future,
        )
        clearing.mark(session, meant, TaskState(state.value), yes)
