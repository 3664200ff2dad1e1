"""Waits as somebody means them, and what a person says about them: in batches that can be watched and interrupted."""

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from bide.control.rewriting import batches
from bide.errors import Refusal
from bide.model.codec import Codec
from bide.model.states import TaskState
from bide.store import by_hand, waits
from bide.store.by_hand import ExtendedWait, SeenWait
from bide.store.database import Database
from bide.store.deferral import as_error
from bide.store.waits import WaitFilter, WaitLine, WaitPage

MOST_AT_ONCE = 50_000
"""Tasks that one word is said about: somebody who means more says it again."""


_ALONG_ONE_INDEX = (WaitFilter(), WaitFilter(unclaimed=True), WaitFilter(parked=True), WaitFilter(overdue=True))


class Extension(Struct, frozen=True):
    """What becomes of the timeout of a wait: a later date, or none, and then why; `limited_by` says what stopped it."""

    line: WaitLine
    until: datetime | None
    limited_by: str = ""


async def page(db: Database, meant: WaitFilter, after: int, limit: int) -> WaitPage:
    """List waits along the index that leads to the fewest of those that are not meant."""
    if meant.wait_id is not None:
        return await waits.list_waits(db, meant, meant.wait_id - 1, limit, 1)
    # Where the index leads to nothing but what is meant, nobody looks further than is shown.
    most = limit if meant in _ALONG_ONE_INDEX else waits.MOST_LOOKED_AT
    if meant.dag_id is not None:
        return await waits.list_waits_of_runs(db, meant, after, limit, most)
    if meant.triggerer_id is not None:
        return await waits.list_waits_of_triggerer(db, meant, after, limit, most)
    if meant.overdue:
        return await waits.list_overdue_waits(db, meant, limit, most)
    if meant.parked:
        return await waits.list_parked_waits(db, meant, limit, most)
    if meant.unclaimed:
        return await waits.list_free_waits(db, meant, limit, most)
    return await waits.list_waits(db, meant, after, limit, most)


async def every(db: Database, meant: WaitFilter) -> tuple[list[WaitLine], bool]:
    """Find all waits that are meant, as far as one word may be said about them; true if there may be more."""
    found: list[WaitLine] = []
    after: int | None = 0
    while after is not None and len(found) < MOST_AT_ONCE:
        part = await page(db, meant, after, MOST_AT_ONCE)
        found += part.lines
        # One wait is one page, however many share it.
        after = None if meant.wait_id is not None else part.after
    return found[:MOST_AT_ONCE], part.is_cut and meant.wait_id is None


async def fire(
    db: Database, who: str, lines: Sequence[WaitLine], event: str | None, why: str = ""
) -> AsyncIterator[int]:
    """Let tasks go on with an encoded event; without one, timers do what they do at their dates."""
    for batch in batches(_seen(lines)):
        yield len(await by_hand.fire_by_hand(db, who, batch, event, why))


async def fail(
    db: Database, who: str, kill_patience: timedelta, lines: Sequence[WaitLine], said: str
) -> AsyncIterator[int]:
    """Let waits have failed, with these words; retries hold."""
    error = as_error(said, reason="failed_by_hand")
    for batch in batches(_seen(lines)):
        yield len(await by_hand.fail_by_hand(db, who, kill_patience, batch, error, said))


async def cancel(
    db: Database, who: str, kill_patience: timedelta, lines: Sequence[WaitLine], to_state: TaskState, why: str = ""
) -> AsyncIterator[int]:
    """Let tasks wait no longer, and count as done."""
    for batch in batches(_seen(lines)):
        yield len(await by_hand.cancel(db, who, kill_patience, batch, to_state, why))


async def extend(db: Database, who: str, extensions: Sequence[Extension], why: str = "") -> AsyncIterator[int]:
    """Let waits end by themselves at a later date."""
    later = [ExtendedWait(one.line.task_instance_id, one.line.id, one.until) for one in extensions if one.until]
    for batch in batches(later):
        yield len(await by_hand.extend(db, who, batch, why))


def extensions(lines: Sequence[WaitLine], by: timedelta | None, until: datetime | None) -> Iterator[Extension]:
    """Tell what becomes of each timeout; a while is counted from the timeout, or from now where that has passed."""
    for line in lines:
        if line.trigger_timeout is None:
            yield Extension(line, None, "it has no timeout")
            continue
        wanted = until or max(line.trigger_timeout, line.now) + (by or timedelta(0))
        limits = {"execution_timeout": line.try_deadline, "the timeout of the sensor": line.sensor_deadline}
        nearest = min(((at, name) for name, at in limits.items() if at is not None and at < wanted), default=None)
        last, name = nearest or (wanted, "")
        if last <= line.trigger_timeout:
            yield Extension(line, None, name or "it ends later already")
        else:
            yield Extension(line, last, name)


def encoded_event(text: str) -> str:
    """Read an event that somebody has written as JSON, and write it as triggers' events are."""
    try:
        event = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise Refusal(f"The event is no JSON: {error}. A text needs quotes of its own, as in '\"done\"'.") from None
    return Codec().encode(event, "the event")


def _seen(lines: Sequence[WaitLine]) -> list[SeenWait]:
    return [SeenWait(line.task_instance_id, line.id) for line in lines]
