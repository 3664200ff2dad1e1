"""Saying something about waits at the command line: asked once, and done before one's eyes."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence

from bide.cli import output, words
from bide.cli.asking import all_batches, must_be_wanted
from bide.cli.clearing import CONCERNED
from bide.cli.session import Session
from bide.control import rewriting, waiting
from bide.control.waiting import Extension
from bide.store.waits import WaitLine


def steer(
    session: Session, lines: Sequence[WaitLine], batches: AsyncIterator[int], verb: str, participle: str, yes: bool
) -> None:
    """Ask, and do it; who has gone on meanwhile is left alone, and counted."""
    if not lines:
        print("There are no such waits.")
        return
    number, dags = len(lines), len({line.dag_id for line in lines})
    about = f"{words.count(number, 'task')} of {words.count(dags, 'DAG')}"
    if number == 1:
        about = f"{lines[0].task_id} of {lines[0].dag_id} {lines[0].run_id}, waiting for {lines[0].classpath}"
    must_be_wanted(f"This will {verb} {about}.", yes)
    changed = done(session, number, batches, participle)
    print(f"{words.count(changed, 'task')} {participle}.")
    if changed < number:
        output.note(f"{words.count(number - changed, 'task')} had gone on already.")


def extend(session: Session, found: Sequence[Extension], why: str, yes: bool) -> None:
    """Ask and extend; first say what cannot go on for so long, and what stands against it."""
    if not found:
        print("There are no such waits.")
        return
    refused = Counter(one.limited_by for one in found if one.until is None)
    limited = Counter(one.limited_by for one in found if one.until is not None and one.limited_by)
    for limit, number in refused.items():
        output.note(f"{words.count(number, 'wait')} cannot be extended: {limit}.")
    for limit, number in limited.items():
        output.note(f"{words.count(number, 'wait')} can be extended only as far as {limit} allows.")
    later = [one for one in found if one.until is not None]
    if not later:
        print("Nothing was changed.")
        return
    last = max(one.until for one in later if one.until is not None)
    until = f"until {words.moment(last)}" if len(later) == 1 else f"until {words.moment(last)} at the latest"
    must_be_wanted(f"This will extend {words.count(len(later), 'wait')}, {until}.", yes)
    changed = done(session, len(later), waiting.extend(session.db, session.who, later, why), "extended")
    print(f"{words.count(changed, 'wait')} extended, {until}.")
    if changed < len(later):
        output.note(f"{words.count(len(later) - changed, 'wait')} had ended or changed meanwhile.")


def done(session: Session, number: int, batches: AsyncIterator[int], participle: str) -> int:
    """Work through the batches; what is interrupted is not half done: each batch is, or is not."""
    changed = 0

    def count(so_far: int) -> None:
        nonlocal changed
        changed = so_far

    work = all_batches(f"Waits {participle}", number, batches, rewriting.BATCH, count)
    try:
        session.run(work)
    except KeyboardInterrupt:
        output.note(f"Interrupted: {changed:,} of {number:,} {participle}, perhaps a few more. Say it again.")
        raise
    finally:
        session.hint(*CONCERNED)
    return changed
