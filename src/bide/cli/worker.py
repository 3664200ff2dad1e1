"""`bide worker`: this service alone."""

import typer

from bide.cli.serve import alone
from bide.store.wake import Channel
from bide.worker.service import Worker

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: bide worker")
def worker(context: typer.Context) -> None:
    """Run a worker, which runs tasks in children of its own."""
    alone(context, Channel.WORKER, lambda on: (Worker(on),))
