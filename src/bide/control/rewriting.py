"""Clearing and marking what was selected: batch by batch, so that it can be watched, interrupted and said again."""

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import timedelta
from typing import TypeVar

from bide.model.states import TaskState
from bide.store import people
from bide.store.database import Database

BATCH = 500

Item = TypeVar("Item")


async def clear(
    db: Database, who: str, kill_patience: timedelta, ids: Sequence[int], why: str = ""
) -> AsyncIterator[int]:
    """Clear task instances; yields after each batch how many of it had something to be cleared."""
    for batch in batches(ids):
        yield len(await people.clear(db, who, kill_patience, batch, why))


async def mark(
    db: Database, who: str, kill_patience: timedelta, ids: Sequence[int], to_state: TaskState, why: str = ""
) -> AsyncIterator[int]:
    """Mark task instances; yields after each batch how many of it were not so already."""
    for batch in batches(ids):
        yield len(await people.mark(db, who, kill_patience, batch, to_state, why))


def batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Cut what one verb is said about into pieces that take a moment each."""
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
