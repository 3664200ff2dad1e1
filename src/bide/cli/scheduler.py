"""`bide scheduler`: this service alone."""

import typer

from bide.cli.serve import alone
from bide.scheduler.service import SchedulerService
from bide.store.wake import Channel

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: bide scheduler")
def scheduler(context: typer.Context) -> None:
    """Run a scheduler; several may run at once, on this machine and on others."""
    alone(context, Channel.SCHEDULER, lambda on: (SchedulerService(on),))
