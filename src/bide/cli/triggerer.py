"""`bide triggerer`: this service alone."""

from typing import Annotated

import typer

from bide.cli.serve import alone
from bide.store.wake import Channel
from bide.triggerer.service import Triggerer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: bide triggerer --capacity 20000 --runners 2")
def triggerer(
    context: typer.Context,
    capacity: Annotated[int | None, typer.Option(help="How many triggers it runs at the same time.")] = None,
    queues: Annotated[str | None, typer.Option(help="The queues that it serves, with commas between them.")] = None,
    runners: Annotated[int | None, typer.Option(help="How many processes share its triggers.")] = None,
) -> None:
    """Run a triggerer, which waits on behalf of deferred tasks."""
    given = {"capacity": capacity, "queues": queues, "runners": runners}
    context.obj |= {f"triggerer.{name}": str(value) for name, value in given.items() if value is not None}
    alone(context, Channel.TRIGGERER, lambda on: (Triggerer(on),))
