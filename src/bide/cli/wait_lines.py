"""How a wait is shown: as a line of a table that may move, or alone with all that is known of it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from bide.cli import output, words
from bide.cli.output import Cell, Column
from bide.store.waits import WaitLine, WaitPage

LOOK_EVERY_SEC = 1.0
LINES_AROUND = 4
"""Lines of a terminal that waits may not take: the heading, the rest, the prompt."""

COLUMNS = (
    Column[WaitLine]("wait", lambda one: str(one.id), right=True),
    Column[WaitLine]("dag", lambda one: one.dag_id),
    Column[WaitLine]("run", lambda one: one.run_id),
    Column[WaitLine]("task", lambda one: task_of(one)),
    Column[WaitLine]("waits for", lambda one: words.plain(one.classpath.rpartition(".")[2])),
    Column[WaitLine]("since", lambda one: words.duration(one.now - one.created_date), right=True),
    Column[WaitLine]("until", lambda one: until(one)),
    Column[WaitLine]("held by", lambda one: holder(one)),
    Column[WaitLine]("heartbeat", lambda one: seen(one), right=True),
    Column[WaitLine]("queue", lambda one: words.plain(one.queue)),
    Column[WaitLine]("priority", lambda one: str(one.priority) if one.priority != 1 else "", right=True),
)


def task_of(line: WaitLine) -> str:
    """Name the task instance that waits."""
    return line.task_id if line.map_index < 0 else f"{line.task_id} [{line.map_index}]"


def until(line: WaitLine) -> Text:
    """Say when the wait ends by itself, as seen from now."""
    if line.trigger_timeout is None:
        return Text("")
    if line.trigger_timeout < line.now:
        return Text(f"overdue for {words.duration(line.now - line.trigger_timeout)}", "red")
    return Text(f"in {words.duration(line.trigger_timeout - line.now)}")


def holder(line: WaitLine) -> Text:
    """Say who watches for what is waited for."""
    if line.due_at is not None:
        return Text(f"a timer, due in {words.duration(max(line.due_at - line.now, timedelta(0)))}")
    if line.parked_until is not None:
        why = words.shortened(line.parked_why, 40)
        again = f" for {words.duration(line.parked_until - line.now)}" if line.parked_until > line.now else ""
        return Text(f"put aside{again}: {why}", "yellow")
    if line.triggerer_id is None:
        return Text("nobody", "yellow")
    where = f"{line.triggerer_id} on {line.hostname}" if line.hostname else f"{line.triggerer_id}, which is not there"
    return Text(where) if line.is_alive else Text(f"{where}, silent", "red")


def seen(line: WaitLine) -> str:
    """Say when the holder was last heard of."""
    return f"{words.duration(line.heartbeat_age)} ago" if line.heartbeat_age is not None else ""


def facts(lines: Sequence[WaitLine], why: str) -> Iterator[tuple[str, Cell]]:
    """Tell people everything about one wait; a shared one has a line for each task."""
    line = lines[0]
    yield "wait", str(line.id)
    yield "waits for", words.plain(line.classpath)
    yield "since", f"{words.moment(line.created_date)}, for {words.duration(line.now - line.created_date)}"
    if line.trigger_timeout is not None:
        yield "until", Text.assemble(words.moment(line.trigger_timeout), ", ", until(line))
    yield "held by", holder(line)
    yield "heartbeat", seen(line)
    yield "handed over", f"{line.claim:,} times" if line.claim > 1 else ""
    yield "queue", words.plain(line.queue)
    yield "priority", str(line.priority)
    yield "when stopped", "its on_kill stops what it has begun outside" if line.on_kill else ""
    yield "why", words.plain(why)
    for one in lines:
        yield "task", f"{one.dag_id} {one.run_id} {task_of(one)}"


async def watch(look: Callable[[], Awaitable[WaitPage]], console: Console) -> None:
    """Show the list as it changes, until somebody has seen enough; without a terminal, a line for each change."""
    await (live(look, console) if console.is_terminal else plainly(look, console))


async def live(look: Callable[[], Awaitable[WaitPage]], console: Console) -> None:
    """Show a table that moves."""
    with Live(console=console, auto_refresh=False, screen=True) as screen:
        while True:
            screen.update(picture(await look(), max(3, console.height - LINES_AROUND)), refresh=True)
            await asyncio.sleep(LOOK_EVERY_SEC)


def picture(page: WaitPage, most: int) -> Group:
    """Draw as many waits as there are lines."""
    if not page.lines:
        return Group(Text("Nothing waits.", "dim"))
    table = output.table(page.lines[:most], COLUMNS)
    hidden = len(page.lines) - most
    if hidden <= 0 and not page.is_cut:
        return Group(table)
    more = "and more" if page.is_cut else f"and {words.count(hidden, 'wait')} more"
    return Group(table, Text(more, "dim"))


async def plainly(look: Callable[[], Awaitable[WaitPage]], console: Console) -> None:
    """Write a line for each wait that has begun, changed hands or ended."""
    shown: dict[int, WaitLine] = {}
    while True:
        now = {line.task_instance_id: line for line in (await look()).lines}
        for task, line in now.items():
            if task not in shown or _hands(shown[task]) != _hands(line):
                say(console, line, holder(line).plain)
        for task in shown.keys() - now.keys():
            say(console, shown[task], "gone from the list")
        shown = now
        await asyncio.sleep(LOOK_EVERY_SEC)


def say(console: Console, line: WaitLine, what: str) -> None:
    """Write what has become of a wait."""
    name = f"{line.id} {line.dag_id} {line.run_id} {task_of(line)} {line.classpath}"
    console.print(words.plain(f"{name}: {what}"), soft_wrap=True, markup=False)


def _hands(line: WaitLine) -> tuple[object, ...]:
    return line.id, line.triggerer_id, line.is_alive, line.parked_until
