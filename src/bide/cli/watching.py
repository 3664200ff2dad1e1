"""Watching a run: a picture of its tasks that moves, or a line for each change where there is no terminal."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bide.cli import output, words
from bide.cli.finding import find_run
from bide.cli.output import Column
from bide.cli.session import Session
from bide.model.graph import topological
from bide.model.plan import decode_plan
from bide.model.states import FINISHED_RUN, TERMINAL, RunState, TaskState
from bide.store import plans, reports
from bide.store.database import Database
from bide.store.reports import Progress, RunFacts

LOOK_EVERY_SEC = 0.5
LINES_AROUND = 6
"""Lines of a terminal that the list of tasks may not take: the run above it, the rest below, the prompt."""


class TaskLine:
    """How all instances of a task stand together."""

    def __init__(self, task_id: str, parts: Sequence[Progress]) -> None:
        self.task_id = task_id
        self.parts = sorted(parts, key=lambda part: part.state)
        self.is_over = all(part.state in TERMINAL for part in parts)
        # What has not begun yet is of no interest while other things move.
        self.moves = any(part.state not in TERMINAL | {TaskState.NONE} for part in parts)
        self.began = min((part.started_at for part in parts if part.started_at), default=None)
        self.tries = max(part.tries for part in parts)

    @property
    def state(self) -> Text:
        """Its state, or how many of its instances are in which."""
        if len(self.parts) == 1 and not self.parts[0].is_mapped:
            return words.state(self.parts[0].state)
        return words.states((part.state, part.number) for part in self.parts)

    @property
    def took(self) -> str:
        """How long it has been running, or did."""
        ends = [part.ended_at for part in self.parts if part.ended_at]
        until = max(ends) if self.is_over and ends else self.parts[0].now
        return words.duration(until - self.began) if self.began else ""


COLUMNS = (
    Column[TaskLine]("task", lambda line: line.task_id),
    Column[TaskLine]("state", lambda line: line.state),
    Column[TaskLine]("tries", lambda line: str(line.tries) if line.tries > 1 else "", right=True),
    Column[TaskLine]("began", lambda line: words.moment(line.began)),
    Column[TaskLine]("took", lambda line: line.took, right=True),
)


def watch(session: Session, run: RunFacts, console: Console) -> RunState:
    """Watch a run until it ends, and tell how it did."""
    order = session.run(task_order(session.db, run))
    show = live if console.is_terminal else plainly
    try:
        ended = session.run(show(session.db, run, order, console))
    except KeyboardInterrupt:
        output.note(f"The run goes on; `bide runs watch {run.dag_id} {run.run_id}` shows it again.")
        raise
    took = f" after {words.duration(ended.duration)}" if ended.duration is not None else ""
    console.print(Text.assemble(f"{run.dag_id} {run.run_id}: ", words.state(ended.state), took), soft_wrap=True)
    return ended.state


async def task_order(db: Database, run: RunFacts) -> list[str]:
    """Tell in which order the tasks of a run come."""
    if run.dag_version_id is None:
        return []
    found = await plans.stored_plans(db, [run.dag_version_id])
    return topological(decode_plan(found[run.dag_version_id]))


async def live(db: Database, run: RunFacts, order: Sequence[str], console: Console) -> RunFacts:
    """Show a picture that moves."""
    with Live(console=console, auto_refresh=False) as screen:
        while True:
            every = lines(order, await reports.run_progress(db, run.id))
            screen.update(picture(run, every, max(3, console.height - LINES_AROUND)), refresh=True)
            if run.state in FINISHED_RUN:
                return run
            await asyncio.sleep(LOOK_EVERY_SEC)
            run = await find_run(db, run.dag_id, run.run_id)


async def plainly(db: Database, run: RunFacts, order: Sequence[str], console: Console) -> RunFacts:
    """Write a line for each change."""
    run_state, shown = "", dict[str, str]()
    while True:
        # How it ended is said once, at the end.
        if run_state != run.state and run.state not in FINISHED_RUN:
            say(console, run.now, f"{run.dag_id} {run.run_id}", words.state(run.state))
            run_state = run.state
        for line in lines(order, await reports.run_progress(db, run.id)):
            if line.state.plain != shown.get(line.task_id, TaskState.NONE.value):
                say(console, run.now, line.task_id, line.state)
            shown[line.task_id] = line.state.plain
        if run.state in FINISHED_RUN:
            return run
        await asyncio.sleep(LOOK_EVERY_SEC)
        run = await find_run(db, run.dag_id, run.run_id)


def say(console: Console, at: datetime, what: str, state: Text) -> None:
    """Write what has changed."""
    console.print(Text.assemble(f"{words.moment(at)} {what} ", state), soft_wrap=True)


def picture(run: RunFacts, every: Sequence[TaskLine], most: int) -> Group:
    """Draw the tasks of a run; where there are more lines than may be, first what moves and what is still to come."""
    shown = most_urgent(every, most)
    took = f", {words.duration(run.duration)}" if run.duration is not None else ""
    head = Text.assemble(f"{run.dag_id} {run.run_id}: ", words.state(run.state), took)
    parts: list[Text | Table] = [head, output.table(shown, COLUMNS)]
    if hidden := len(every) - len(shown):
        parts.append(Text(f"and {words.count(hidden, 'task')} more; {run.ended:,} of {run.tasks:,} ended", "dim"))
    return Group(*parts)


def most_urgent(every: Sequence[TaskLine], most: int) -> list[TaskLine]:
    """Choose those that move, and then those that are still to come; they keep their order."""
    urgent = sorted(every, key=lambda line: (not line.moves, line.is_over))[:most]
    chosen = {line.task_id for line in urgent}
    return [line for line in every if line.task_id in chosen]


def lines(order: Iterable[str], tasks: Iterable[Progress]) -> list[TaskLine]:
    """Put what is known of each task together, in the order in which they come."""
    parts: dict[str, list[Progress]] = {task_id: [] for task_id in order}
    for part in tasks:
        parts.setdefault(part.task_id, []).append(part)
    return [TaskLine(task_id, found) for task_id, found in parts.items() if found]
