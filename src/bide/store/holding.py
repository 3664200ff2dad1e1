"""Who holds a wait, and what becomes of it; the statements are in sql/holding.sql."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bide.store.database import Database
from bide.store.rows import columns


class Claim(Struct, frozen=True):
    """A wait as a triggerer was given it. As a fence: it has not changed hands since."""

    id: int
    claim: int


class Facts(Struct, frozen=True, kw_only=True):
    """The task that waits, as its trigger may know it; of several that share a wait one. All None if nobody waits."""

    task_instance_id: int | None
    dag_id: str | None
    run_id: str | None
    task_id: str | None
    map_index: int | None
    try_number: int | None
    leg: int | None
    logical_date: datetime | None
    data_interval_start: datetime | None
    data_interval_end: datetime | None


class Claimed(Facts, frozen=True, kw_only=True):
    """A wait that a triggerer may run now. `kwargs` are sealed. With `parked_why` it was put aside before."""

    id: int
    claim: int
    classpath: str
    kwargs: str
    on_kill: bool
    dag_version_id: int | None
    parked_why: str | None


class Parked(Struct, frozen=True):
    """A wait that cannot run for now, and why."""

    id: int
    claim: int
    why: str
    pause: timedelta


class Kill(Facts, frozen=True, kw_only=True):
    """A stopped wait whose on_kill is to run now. `kwargs` are sealed."""

    trigger_id: int
    claim: int
    classpath: str
    kwargs: str
    dag_version_id: int | None
    reason: str
    time_left: timedelta


class Answered(Struct, frozen=True):
    """A task that no on_kill of this wait stands in the way of any more."""

    trigger_id: int
    task_instance_id: int


class Sealed(Struct, frozen=True):
    """The sealed arguments of a wait."""

    id: int
    classpath: str
    kwargs: str


class Resealed(Struct, frozen=True):
    """Sealed arguments as they were read, and as they shall be stored."""

    id: int
    kwargs: str
    resealed: str


async def claim(db: Database, who: str, triggerer_id: int, queues: Sequence[str], limit: int) -> list[Claimed]:
    """Take free waits of these queues; the empty name means waits without a queue."""
    return [Claimed(**row) for row in await db.rows("claim", who, triggerer_id, queues, limit)]


async def release(db: Database, who: str, triggerer_id: int, claims: Sequence[Claim], why: str) -> list[Claim]:
    """Let go of these waits, for others."""
    rows = await db.rows("release", who, triggerer_id, *columns(Claim, claims), why)
    return [Claim(**row) for row in rows]


async def release_all(db: Database, who: str, triggerer_id: int, why: str) -> list[Claim]:
    """Let go of everything that the triggerer holds."""
    return [Claim(**row) for row in await db.rows("release_all", who, triggerer_id, why)]


async def orphan(db: Database, who: str, limit: int) -> list[Claim]:
    """Free what triggerers held that are gone."""
    return [Claim(**row) for row in await db.rows("orphan", who, limit)]


async def park(db: Database, who: str, waits: Sequence[Parked]) -> list[Claim]:
    """Put aside waits whose code or key is not there."""
    return [Claim(**row) for row in await db.rows("park", who, *columns(Parked, waits))]


async def unpark(db: Database, who: str, limit: int) -> list[Claim]:
    """Try parked waits again whose pause is over."""
    return [Claim(**row) for row in await db.rows("unpark", who, limit)]


async def take_kill(
    db: Database, who: str, triggerer_id: int, queues: Sequence[str], limit: int, known: Sequence[int] | None = None
) -> list[Kill]:
    """Take up calls of on_kill. With `known`, the waits of those taken up before, also those whose answer was lost."""
    return [Kill(**row) for row in await db.rows("take_kill", who, triggerer_id, queues, limit, known)]


async def acknowledge(db: Database, who: str, kills: Sequence[Claim]) -> list[Answered]:
    """Their on_kill has run."""
    return [Answered(**row) for row in await db.rows("acknowledge", who, *columns(Claim, kills))]


async def give_up(db: Database, who: str, limit: int) -> list[Answered]:
    """Stop waiting for on_kills that did not run in time."""
    return [Answered(**row) for row in await db.rows("give_up", who, limit)]


async def sweep(db: Database, who: str, after_id: int, age: timedelta, limit: int) -> list[Claim]:
    """Remove waits that nothing waits for, from this id on."""
    return [Claim(**row) for row in await db.rows("sweep", who, after_id, age, limit)]


async def resealable(db: Database, after_id: int, limit: int) -> list[Sealed]:
    """Read one batch of sealed arguments, from this id on."""
    return [Sealed(**row) for row in await db.rows("resealable", after_id, limit)]


async def reseal(db: Database, waits: Sequence[Resealed]) -> int:
    """Store arguments that were sealed anew, and count those that were still there."""
    return len(await db.rows("reseal", *columns(Resealed, waits)))
