"""`bide dags test`: a DAG runs in this process, on a database that is made for it and thrown away."""

from typing import Annotated

import typer

from bide.cli import trying
from bide.cli.trying import Conf, Connections, LogicalDate, Logs, Screen, Variables, What
from bide.model.states import RunState
from bide.testing import Given, try_dag

app = typer.Typer(add_completion=False)


@app.command("test", epilog="""Example: bide dags test dags/sales.py --conf '{"day": "2030-01-31"}'""")
def try_it(
    context: typer.Context,
    what: What,
    dag_id: Annotated[
        str | None, typer.Option("--dag", metavar="DAG", help="Which DAG of a file with several.", show_default=False)
    ] = None,
    conf: Conf = "",
    logical_date: LogicalDate = None,
    variables: Variables = None,
    connections: Connections = None,
    assumed: Annotated[
        str | None,
        typer.Option(
            "--mark-success-pattern",
            parser=trying.pattern,
            metavar="PATTERN",
            help="Tasks whose ids match count as done without being run.",
            show_default=False,
        ),
    ] = None,
    logs: Logs = True,
) -> None:
    """Try a DAG out in this process: on the real engine, with a clock that makes nobody wait. Nothing of it is kept."""
    dag = trying.find(context, what, dag_id, variables, connections)
    screen = Screen(logs)
    given = Given(trying.params(conf), logical_date, variables=variables, connections=connections)
    with trying.told(), screen.open():
        result = try_dag(dag, given, screen.wrote, screen.look, assumed)
    screen.end(dag.dag_id, result)
    raise typer.Exit(0 if result.state is RunState.SUCCESS else 1)
