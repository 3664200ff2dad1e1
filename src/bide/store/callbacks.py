"""Calls of code that somebody wants to be called after a try or a run; the statements are in sql/callbacks.sql."""

from collections.abc import Sequence
from datetime import timedelta

from msgspec import Struct

from bide.model.plan import Callback
from bide.store.database import Database
from bide.store.legs import Started
from bide.store.rows import columns


class Call(Struct, frozen=True):
    """A call as a worker was given it. As a fence: it has not changed hands since."""

    id: int
    claim: int


class Taken(Struct, frozen=True):
    """A call that a worker is to make now, and the try that it is about. `of_run` tells that it is the DAG's own."""

    call: Call
    kind: Callback
    of_run: bool
    reason: str | None
    started: Started


class EndedCall(Struct, frozen=True):
    """A call that was made; with an error it has failed."""

    id: int
    claim: int
    error: str | None


async def take_callback(
    db: Database, who: str, worker_id: int, queues: Sequence[str], limit: int, within: timedelta
) -> list[Taken]:
    """Take up calls that nobody has; what is not heard of `within` that time goes to others."""
    rows = [dict(row) for row in await db.rows("take_callback", who, worker_id, queues, limit, within)]
    return [
        Taken(
            Call(row.pop("callback_id"), row.pop("claim")),
            Callback(row.pop("callback_type")),
            row.pop("of_run"),
            row.pop("reason"),
            Started(**row),
        )
        for row in rows
    ]


async def end_callback(db: Database, who: str, calls: Sequence[EndedCall]) -> list[Call]:
    """They were called; what does not come back was no longer the caller's."""
    if not calls:
        return []
    answer = [Call(**row) for row in await db.rows("end_callback", who, *columns(EndedCall, calls))]
    db.stale_writes["end_callback"] += len(calls) - len(answer)
    return answer


async def free_callback(db: Database, who: str, most_claims: int, limit: int) -> list[Call]:
    """Free what workers had taken up that are gone, or say nothing."""
    return [Call(**row) for row in await db.rows("free_callback", who, most_claims, limit)]


async def forget_callbacks(db: Database, age: timedelta, limit: int) -> int:
    """Remove a batch of those that have ended so long ago."""
    return len(await db.rows("forget_callbacks", age, limit))
