"""Clearing and marking tasks at the command line: what is meant, asked once, and done before one's eyes."""

from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from typing import Annotated

import typer

from bide.cli import output, words
from bide.cli.asking import all_batches, must_be_wanted
from bide.cli.session import Session
from bide.control import rewriting
from bide.control.selection import Meant, select
from bide.model.states import TaskState
from bide.store.control import Instance
from bide.store.wake import Channel

Upstream = Annotated[bool, typer.Option("--upstream", help="And all that comes before them.")]
Downstream = Annotated[bool, typer.Option("--downstream", help="And all that comes after them.")]
Past = Annotated[bool, typer.Option("--past", help="In all runs with earlier logical dates too.")]
Future = Annotated[bool, typer.Option("--future", help="In all runs with later logical dates too.")]
OnlyFailed = Annotated[bool, typer.Option("--only-failed", help="Of these only what has failed.")]
OnlyRunning = Annotated[bool, typer.Option("--only-running", help="Of these only what is running.")]
MapIndexes = Annotated[
    list[int] | None, typer.Option("--map-index", min=0, help="Of the named tasks only this instance; may be repeated.")
]


class Mark(StrEnum):
    """What a task may be marked as."""

    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"


class RunEnd(StrEnum):
    """What a run may be marked as."""

    SUCCESS = "success"
    FAILED = "failed"


RunMark = Annotated[RunEnd, typer.Argument(metavar="STATE", help="How it shall have ended.", show_default=False)]

CLEAR = frozenset({TaskState.NONE, TaskState.RESTARTING})
"""What will run afresh anyway."""

CONCERNED = (Channel.SCHEDULER, Channel.WORKER, Channel.TRIGGERER)
"""Who has something to do when a person has taken tasks out of whatever they were in."""


def states(only_failed: bool, only_running: bool) -> tuple[TaskState, ...]:
    """Tell which states are meant; none means any."""
    failed = (TaskState.FAILED, TaskState.UPSTREAM_FAILED) if only_failed else ()
    return (*failed, TaskState.RUNNING) if only_running else failed


def clear(session: Session, meant: Meant, yes: bool) -> None:
    """Clear what is meant."""
    found = [one for one in session.run(select(session.db, meant)) if one.state not in CLEAR]
    batches = rewriting.clear(session.db, session.who, session.kill_patience, [one.id for one in found])
    rewrite(session, found, batches, "clear", "cleared", yes)


def mark(session: Session, meant: Meant, to_state: TaskState, yes: bool) -> None:
    """Mark what is meant."""
    found = [one for one in session.run(select(session.db, meant)) if one.state is not to_state]
    batches = rewriting.mark(session.db, session.who, session.kill_patience, [one.id for one in found], to_state)
    rewrite(session, found, batches, f"mark as {to_state}", f"marked as {to_state}", yes)


def rewrite(
    session: Session, found: Sequence[Instance], batches: AsyncIterator[int], verb: str, participle: str, yes: bool
) -> None:
    """Ask, and do it. What is interrupted is not half done: each batch is, or is not."""
    if not found:
        print(f"There is nothing to {verb}.")
        return
    number, runs = len(found), len({one.run_id for one in found})
    must_be_wanted(f"This will {verb} {words.count(number, 'task')} in {words.count(runs, 'run')}.", yes)
    changed = 0

    def count(done: int) -> None:
        nonlocal changed
        changed = done

    work = all_batches(f"Tasks {participle}", number, batches, rewriting.BATCH, count)
    try:
        session.run(work)
    except KeyboardInterrupt:
        # What was under way when the connection was cut may still be carried out.
        output.note(
            f"Interrupted: {changed:,} of {words.count(number, 'task')} {participle}, perhaps a few more. Say it again."
        )
        raise
    finally:
        session.hint(*CONCERNED)
    print(f"{words.count(changed, 'task')} {participle}.")
