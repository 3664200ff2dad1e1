"""`bide dag-processor`: this service alone."""

import typer

from bide.cli.serve import alone
from bide.dagprocessor.service import DagProcessor
from bide.store.wake import Channel

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: bide dag-processor")
def dag_processor(context: typer.Context) -> None:
    """Run a DAG processor, which turns the DAG files of this machine into plans."""
    alone(context, Channel.DAG_PROCESSOR, lambda on: (DagProcessor(on),))
