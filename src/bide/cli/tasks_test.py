"""`bide tasks test`: one task runs alone in this process, on a database that is made for it and thrown away."""

from typing import Annotated

import typer

from bide.cli import trying
from bide.cli.trying import Conf, Connections, LogicalDate, Screen, Variables, What
from bide.model.states import TaskState
from bide.testing import Given, try_task

app = typer.Typer(add_completion=False)
FINE = frozenset({TaskState.SUCCESS, TaskState.SKIPPED})


@app.command("test", epilog="Example: bide tasks test dags/sales.py load --logical-date 2030-01-31")
def try_it(
    context: typer.Context,
    what: What,
    task_id: Annotated[str, typer.Argument(metavar="TASK", help="The id of a task, with its groups.")],
    dag_id: Annotated[
        str | None, typer.Option("--dag", metavar="DAG", help="Which DAG of a file with several.", show_default=False)
    ] = None,
    conf: Conf = "",
    logical_date: LogicalDate = None,
    variables: Variables = None,
    connections: Connections = None,
) -> None:
    """Try one task out in this process, once, as if all before it were done. Nothing of it is kept."""
    dag = trying.find(context, what, dag_id, variables, connections)
    screen = Screen(shows_logs=True)
    given = Given(trying.params(conf), logical_date, variables=variables, connections=connections)
    with trying.told():
        result = try_task(dag, task_id, given, screen.wrote)
    for task in result.tasks:
        screen.returned(task)
    raise typer.Exit(0 if all(task.state in FINE for task in result.tasks) else 1)
