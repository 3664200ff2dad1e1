"""`bide why`: one sentence that says why a task is where it is, and what will move it."""

import typer
from rich.text import Text

from bide.cli import output, words
from bide.cli.finding import find_task
from bide.cli.given import DagId, MapIndex, RunId, TaskId
from bide.cli.output import As, Output
from bide.cli.session import opened
from bide.control.why import told

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: bide why sales latest load")
def why(
    context: typer.Context,
    dag_id: DagId,
    run_id: RunId,
    task_id: TaskId,
    map_index: MapIndex = None,
    output_as: As = Output.TABLE,
) -> None:
    """Say in one sentence why a task is where it is, and what will move it."""
    with opened(context) as session:
        task = session.run(find_task(session.db, dag_id, run_id, task_id, map_index))
        found = session.run(told(session.db, task.dag_id, task.run_id, task.task_id, task.map_index))
    if output_as is not Output.TABLE:
        output.tell(found, output_as)
        return
    output.print_wide(Text.assemble(words.state(found.state), ": ", words.plain(found.sentence)))
