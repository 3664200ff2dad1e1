"""`bide savings`: the worker time that waiting for free has saved, and what it would have cost."""

from datetime import datetime, timedelta
from typing import Annotated

import msgspec
import typer

from bide.cli import completing, given, output, words
from bide.cli.finding import find_dag
from bide.cli.output import As, Column, Output, progress
from bide.cli.session import opened
from bide.control.savings import COUNTED, Saved, saved
from bide.store.jobs import JobType, jobs_at_work

app = typer.Typer(add_completion=False)

COLUMNS = (
    Column[Saved]("dag", lambda one: one.dag_id or "all"),
    Column[Saved]("waits", lambda one: f"{one.waits:,}", right=True),
    Column[Saved]("waited", lambda one: words.duration(one.waited), right=True),
    Column[Saved]("hours", lambda one: f"{one.hours:,.1f}", right=True),
    Column[Saved]("money", lambda one: "" if one.money is None else f"{one.money:,.2f}", right=True),
)


@app.command(epilog="Example: bide savings --since 7d --price 0.05")
def savings(
    context: typer.Context,
    dag_id: Annotated[
        str | None, typer.Argument(metavar="DAG", help="The id of a DAG; else all.", autocompletion=completing.dags)
    ] = None,
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="From this date on, or for so long, such as 7d.")
    ] = "30d",
    until: Annotated[str | None, typer.Option("--until", metavar="DATE", help="Until this date; else now.")] = None,
    price: Annotated[
        float | None,
        typer.Option("--price", min=0, help="What a slot of a worker costs in an hour; else worker.price_per_hour."),
    ] = None,
    output_as: As = Output.TABLE,
) -> None:
    """Show for how long tasks have waited without a worker, by DAG and together, and what that has saved."""
    with opened(context) as session:
        if dag_id is not None:
            session.run(find_dag(session.db, dag_id))
        end = given.moment(until) if until else session.run(jobs_at_work(session.db, JobType.SCHEDULER)).now
        begin = beginning(since, end)
        if begin >= end:
            raise typer.BadParameter("--since must lie before --until.")
        cost = session.settings.worker.price_per_hour if price is None else price
        with progress.status("Adding up waits") as status:
            found = session.run(
                saved(session.db, begin, end, cost, lambda waits: status.update(f"Adding up waits: {waits:,}"))
            )
    dags = [one for one in found.dags if dag_id in (None, one.dag_id)]
    if output_as is not Output.TABLE:
        output.tell(msgspec.structs.asdict(found) | {"dags": dags, "counted": COUNTED}, output_as)
        return
    rows = dags if dag_id is not None or len(dags) == 1 else [*dags, found.total] if dags else []
    output.show(rows, COLUMNS, output_as, "Nothing has waited without a worker in that time.")
    output.note(f"From {words.moment(begin)} to {words.moment(end)}. {COUNTED}")


def beginning(since: str, end: datetime) -> datetime:
    """Read the beginning of a period: a date, or a while before its end."""
    try:
        before = given.duration(since)
    except typer.BadParameter:
        return given.moment(since)
    return end - min(before, timedelta(days=36_500))
