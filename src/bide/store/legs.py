"""What workers say about the legs that they were given; the statements are in sql/legs.sql."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from bide.store.database import Database
from bide.store.rows import Changed, Leg, XCom, columns


class Started(Struct, frozen=True):
    """A leg that a worker may run now, and all that its child must know. The first leg of a try `opens` it."""

    id: int
    leg: int
    dag_run_id: int
    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    try_number: int
    max_tries: int
    retries: int
    next_method: str | None
    next_kwargs: str | None
    try_time_left: timedelta | None
    sensor_time_left: timedelta | None
    opens: bool
    now: datetime
    dag_version_id: int | None
    run_type: str
    logical_date: datetime | None
    data_interval_start: datetime | None
    data_interval_end: datetime | None
    run_start_date: datetime | None
    conf: str | None
    queue: str


class SkippedLeg(Struct, frozen=True):
    """A leg that is skipped in a given state: its code found that there is nothing to do, or its time is up."""

    id: int
    leg: int
    why: str
    from_state: Literal["running", "scheduled"] = "running"


class FailedLeg(Struct, frozen=True):
    """A leg that failed in a given state; with a time to rest the task tries again."""

    id: int
    leg: int
    from_state: Literal["running", "scheduled"]
    rest: timedelta | None
    why: str


class RescheduledLeg(Struct, frozen=True):
    """A leg of a sensor that looks again at a date, or after a while."""

    id: int
    leg: int
    until: datetime | None = None
    after: timedelta | None = None


async def start(db: Database, who: str, worker_id: int, legs: Sequence[Leg]) -> list[Started]:
    """Take up queued legs; what does not come back is somebody else's."""
    rows = await db.rows("start", who, worker_id, *columns(Leg, legs))
    db.refused("start", who, len(legs) - len(rows))
    return [Started(**row) for row in rows]


async def succeed(db: Database, who: str, legs: Sequence[Leg], xcoms: Sequence[XCom] = ()) -> list[Changed]:
    """Their code returned."""
    return await db.verb("succeed", who, legs, *columns(Leg, legs), *columns(XCom, xcoms))


async def skip(db: Database, who: str, legs: Sequence[SkippedLeg]) -> list[Changed]:
    """There is nothing to do for them: on a worker, or as a `__fail__` leg that the scheduler finishes softly."""
    return await db.verb("skip", who, legs, *columns(SkippedLeg, legs))


async def fail(db: Database, who: str, legs: Sequence[FailedLeg]) -> list[Changed]:
    """Their try has failed: on a worker, or as a `__fail__` leg that the scheduler finishes."""
    return await db.verb("fail", who, legs, *columns(FailedLeg, legs))


async def reschedule(db: Database, who: str, legs: Sequence[RescheduledLeg]) -> list[Changed]:
    """Their sensors look again later."""
    return await db.verb("reschedule", who, legs, *columns(RescheduledLeg, legs))


async def drain(db: Database, who: str, legs: Sequence[Leg]) -> list[Changed]:
    """The worker leaves before they are done."""
    return await db.verb("drain", who, legs, *columns(Leg, legs))


async def stopped(db: Database, who: str, children: Sequence[Leg]) -> list[Changed]:
    """Their children are gone; `leg` is the leg that the child ran."""
    return await db.verb("stopped", who, children, *columns(Leg, children))


async def rescue(db: Database, who: str, limit: int) -> list[Changed]:
    """Free what workers held that are gone."""
    return await db.found("rescue", who, limit)
