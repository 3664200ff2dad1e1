"""`bide status`: who works, what runs, and what is stuck."""

from datetime import timedelta

import msgspec
import typer
from rich.text import Text

from bide.cli import output, words
from bide.cli.output import As, Column, Output
from bide.cli.session import opened
from bide.control.stuck import Situation, free, stuck, survey
from bide.store.control import Pool
from bide.store.situation import QueueLoad, ServiceLine, WaitCounts

app = typer.Typer(add_completion=False)

SERVICE_COLUMNS = (
    Column[ServiceLine]("service", lambda one: one.job_type.removesuffix("Job")),
    Column[ServiceLine]("no", lambda one: str(one.id), right=True),
    Column[ServiceLine]("is", lambda one: life(one)),
    Column[ServiceLine]("heartbeat", lambda one: f"{words.duration(one.heartbeat_age)} ago", right=True),
    Column[ServiceLine]("load", lambda one: load(one), right=True),
    Column[ServiceLine]("queues", lambda one: ", ".join(one.queues)),
    Column[ServiceLine]("host", lambda one: one.hostname),
    Column[ServiceLine]("pid", lambda one: str(one.pid or ""), right=True),
    Column[ServiceLine]("since", lambda one: words.moment(one.start_date)),
    Column[ServiceLine]("version", lambda one: one.version or ""),
)
QUEUE_COLUMNS = (
    Column[QueueLoad]("queue", lambda one: one.queue),
    Column[QueueLoad]("queued", lambda one: f"{one.number:,}", right=True),
    Column[QueueLoad]("oldest", lambda one: words.duration(max(one.oldest, timedelta(0))), right=True),
    Column[QueueLoad]("workers", lambda one: str(one.workers), right=True),
)
POOL_COLUMNS = (
    Column[Pool]("pool", lambda one: one.name),
    Column[Pool]("slots", lambda one: str(one.slots), right=True),
    Column[Pool]("free", lambda one: str(free(one)), right=True),
    Column[Pool]("wanted", lambda one: str(one.scheduled or ""), right=True),
)


@app.command(epilog="Example: bide status --output json")
def status(context: typer.Context, output_as: As = Output.TABLE) -> None:
    """Show who works, what runs, and what is stuck, with what would move it."""
    with opened(context) as session:
        found = session.run(survey(session.db))
        name = session.place.name
    troubles = stuck(found)
    if output_as is not Output.TABLE:
        output.tell(msgspec.structs.asdict(found) | {"stuck": troubles}, output_as)
        return
    print(f"{name[0].upper()}{name[1:]}")
    show(found, troubles)


def show(found: Situation, troubles: list[str]) -> None:
    """Show it to a person, what is stuck at the end, where the eye is."""
    output.heading("Services")
    output.print_wide(output.table(found.services, SERVICE_COLUMNS) if found.services else "None.")
    output.heading("Work")
    runs = [(f"{run.state} in paused DAGs" if run.is_paused else run.state.value, run.number) for run in found.runs]
    output.print_wide(Text.assemble("runs   ", words.states(runs) if runs else "none"))
    tasks = [(task.state.value, task.number) for task in found.tasks]
    output.print_wide(Text.assemble("tasks  ", words.states(tasks) if tasks else "none"))
    output.print_wide(Text.assemble("waits  ", waiting(found.waits)))
    if found.queues:
        output.heading("Queues")
        output.print_wide(output.table(found.queues, QUEUE_COLUMNS))
    output.heading("Pools")
    output.print_wide(output.table(found.pools, POOL_COLUMNS))
    output.heading("Stuck")
    for trouble in troubles:
        output.print_wide(Text(f"! {words.plain(trouble)}", "yellow"))
    if not troubles:
        output.print_wide(Text("Nothing."))


def waiting(counts: WaitCounts) -> str:
    """Say how many tasks wait, and who watches for what they wait for."""
    parts = {
        "held": counts.held,
        "held by nobody": counts.unclaimed,
        "timer" if counts.timers == 1 else "timers": counts.timers,
        "put aside": counts.parked,
        "overdue": counts.overdue,
    }
    said = ", ".join(f"{number:,} {name}" for name, number in parts.items() if number)
    return f"{words.count(counts.tasks, 'task')}{f': {said}' if said else ''}" if counts.tasks or said else "none"


def life(service: ServiceLine) -> Text:
    """Say whether a service is alive."""
    if service.is_alive:
        return Text("alive", "green")
    return Text("given up" if service.is_over else "silent", "red")


def load(service: ServiceLine) -> str:
    """Say how much a service has in hand, and of how much."""
    if service.load is None:
        return ""
    return f"{service.load:,}" if service.capacity is None else f"{service.load:,} of {service.capacity:,}"
