"""What became of a task in a run: where it is, its legs, what it left, and its history as a timeline."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

import msgspec
from msgspec import Struct
from rich.text import Text

from bide.cli import output, words
from bide.cli.finding import find_run, find_task
from bide.cli.output import Cell, Column, Output
from bide.control.why import told
from bide.store import reports
from bide.store.database import Database
from bide.store.reports import HistoryLine, InstanceLine, LegLine, TaskFacts, XComLine

MOST = 1000
LONGEST_VALUE = 10_000


class Moment(Struct, frozen=True):
    """An entry of the history, and the time that has passed since the one before."""

    entry: HistoryLine
    after: timedelta | None


class Story(Struct, frozen=True):
    """All that is known of a task instance."""

    task: TaskFacts
    why: str
    legs: list[LegLine]
    xcoms: list[XComLine]
    history: list[HistoryLine]


class Instances(Struct, frozen=True):
    """The instances of a mapped task."""

    task_id: str
    instances: list[InstanceLine]


INSTANCE_COLUMNS = (
    Column[InstanceLine]("index", lambda one: str(one.map_index), right=True),
    Column[InstanceLine]("state", lambda one: words.state(one.state)),
    Column[InstanceLine]("try", lambda one: str(one.try_number or ""), right=True),
    Column[InstanceLine]("began", lambda one: words.moment(one.start_date)),
    Column[InstanceLine]("ended", lambda one: words.moment(one.end_date)),
    Column[InstanceLine]("took", lambda one: words.duration(one.duration), right=True),
)
LEG_COLUMNS = (
    Column[LegLine]("leg", lambda leg: str(leg.leg), right=True),
    Column[LegLine]("try", lambda leg: str(leg.try_number), right=True),
    Column[LegLine]("began", lambda leg: words.moment(leg.started_at)),
    Column[LegLine]("took", lambda leg: words.duration(leg.duration), right=True),
    Column[LegLine]("worker", lambda leg: f"{leg.worker_id} on {leg.worker_host}" if leg.worker_host else ""),
    Column[LegLine]("pid", lambda leg: str(leg.pid or ""), right=True),
    Column[LegLine]("cpu", lambda leg: "" if leg.cpu_sec is None else words.duration(timedelta(seconds=leg.cpu_sec))),
    Column[LegLine]("memory", lambda leg: words.size(leg.peak_memory_kb and leg.peak_memory_kb * 1024), right=True),
    Column[LegLine]("end", lambda leg: words.plain(leg.exit) or "by itself"),
)
XCOM_COLUMNS = (
    Column[XComLine]("key", lambda xcom: words.plain(xcom.key)),
    Column[XComLine]("size", lambda xcom: words.size(xcom.size), right=True),
    Column[XComLine]("value", lambda xcom: words.shortened(xcom.value)),
)
HISTORY_COLUMNS = (
    Column[Moment]("at", lambda at: words.moment(at.entry.at)),
    Column[Moment]("after", lambda at: words.duration(at.after), right=True),
    Column[Moment]("what", lambda at: at.entry.verb),
    Column[Moment]("state", lambda at: step(at.entry)),
    Column[Moment]("try", lambda at: str(at.entry.try_number or ""), right=True),
    Column[Moment]("leg", lambda at: str(at.entry.leg or ""), right=True),
    Column[Moment]("who", lambda at: words.plain(at.entry.who)),
    Column[Moment]("why", lambda at: words.shortened(at.entry.why, 200)),
)


async def story(db: Database, dag_id: str, run_id: str, task_id: str, map_index: int | None) -> Story | Instances:
    """Gather all that is known of a task; of a mapped one, unless an instance is named, its instances."""
    if map_index is None:
        run = await find_run(db, dag_id, run_id)
        there = await reports.list_instances(db, dag_id, run.run_id, task_id, -2, MOST)
        if len(there) > 1:
            return Instances(task_id, there)
    task = await find_task(db, dag_id, run_id, task_id, map_index)
    reason = await told(db, task.dag_id, task.run_id, task.task_id, task.map_index)
    return Story(
        task,
        reason.sentence,
        await reports.list_legs(db, task.id, MOST),
        await reports.list_xcoms(db, task, LONGEST_VALUE, MOST),
        await reports.task_history(db, task.id, MOST),
    )


def show_story(shown: Story | Instances, output_as: Output) -> None:
    """Show it."""
    if isinstance(shown, Instances):
        output.show(shown.instances, INSTANCE_COLUMNS, output_as, f"{shown.task_id} has no instances.")
        if output_as is Output.TABLE:
            output.note("--map-index shows one of them.")
        return
    everything = msgspec.structs.asdict(shown) | {"xcoms": [value_of(xcom) for xcom in shown.xcoms]}
    if not output.show_facts(everything, facts(shown.task, shown.why), output_as):
        return
    part("Legs", shown.legs, LEG_COLUMNS)
    part("XComs", shown.xcoms, XCOM_COLUMNS)
    part("History", timeline(shown.history), HISTORY_COLUMNS)


def part(title: str, rows: Sequence[output.Row], columns: Sequence[Column[output.Row]]) -> None:
    """Show a part of it, if there is anything in it."""
    if rows:
        output.heading(title)
        output.print_wide(output.table(rows, columns))


def facts(task: TaskFacts, why: str) -> Iterator[tuple[str, Cell]]:
    """Tell people where it is, who has it, and what moves it."""
    index = "" if task.map_index < 0 else f" [{task.map_index}]"
    yield "task", f"{task.dag_id} {task.run_id} {task.task_id}{index}"
    yield "state", words.state(task.state)
    yield "why", words.plain(why)
    yield "operator", task.operator
    yield "try", f"{task.try_number} of {task.max_tries + 1}" if task.try_number else ""
    yield "began", words.moment(task.start_date)
    yield "ended", words.moment(task.end_date)
    yield "took", words.duration(task.duration)
    if task.worker_id is not None:
        yield "worker", f"{task.worker_id} on {task.worker_host}"
    yield "waits for", waiting(task)
    yield "goes on", words.moment(task.wake_at)
    yield "times out", words.moment(task.trigger_timeout or task.sensor_deadline or task.try_deadline)
    yield "pool", f"{task.pool}, {words.count(task.pool_slots, 'slot')}"
    yield "queue", task.queue
    yield "priority", str(task.priority_weight)


def waiting(task: TaskFacts) -> str:
    """Say what a task waits for, and who watches for it."""
    if task.waits_for is None or task.waits_since is None:
        return ""
    said = f"{task.waits_for}, for {words.duration(task.now - task.waits_since)}"
    if task.due_at is not None:
        return f"{said}, due {words.moment(task.due_at)}"
    if task.parked_why is not None:
        return f"{said}; put aside: {words.plain(task.parked_why)}"
    return f"{said}, held by triggerer {task.triggerer_id}" if task.triggerer_id else f"{said}; nobody holds it yet"


def step(entry: HistoryLine) -> Text:
    """Write from which state it went to which."""
    if entry.from_state in (None, entry.to_state):
        return words.state(entry.to_state)
    return Text.assemble(words.state(entry.from_state), " → ", words.state(entry.to_state))


def timeline(history: Sequence[HistoryLine]) -> list[Moment]:
    """Say of each entry how long after the last one it was."""
    before = [None, *history]
    return [Moment(entry, entry.at - last.at if last else None) for last, entry in zip(before, history, strict=False)]


def value_of(xcom: XComLine) -> dict[str, object]:
    """Give programs a value as such; one that was too long stays the beginning of a text."""
    known = msgspec.structs.asdict(xcom)
    is_whole = len(xcom.value.encode()) == xcom.size
    return known | {"value": msgspec.json.decode(xcom.value) if is_whole else xcom.value, "is_whole": is_whole}
