"""Processes: who is there, who is alive, who is gone; the statements are in sql/jobs.sql."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from msgspec import Struct

from bide.sql import statement
from bide.store.database import Database

LOCKS_OF_PROCESSES = 0x42494445
"""The first half of the advisory locks that processes hold; the second is the number of the job."""


class JobType(StrEnum):
    """The kinds of processes, by the names that operators know."""

    SCHEDULER = "SchedulerJob"
    TRIGGERER = "TriggererJob"
    WORKER = "WorkerJob"
    DAG_PROCESSOR = "DagProcessorJob"
    WEB = "WebJob"


class NewJob(Struct, frozen=True, kw_only=True):
    """A process that begins."""

    job_type: JobType
    hostname: str
    pid: int | None = None
    version: str | None = None
    capacity: int | None = None
    queues: tuple[str, ...] = ()
    heartbeat_sec: float = 5.0
    holds_lock: bool = False


class Buried(Struct, frozen=True):
    """A process that is gone, and how that was noticed."""

    id: int
    job_type: JobType
    hostname: str
    why: str


class Watch(Struct, frozen=True):
    """The stretch of time, by the database's clock, in which somebody has looked again and again without a break.

    `calm_since` is the last moment at which all may have lost their locks together.
    """

    since: datetime
    until: datetime
    calm_since: datetime


class AtWork(Struct, frozen=True):
    """The running processes of a kind at some moment, by their numbers."""

    now: datetime
    server_since: datetime
    ids: Sequence[int]


class Load(Struct, frozen=True):
    """A running triggerer and how many waits it holds."""

    id: int
    capacity: int | None
    queues: tuple[str, ...]
    load: int


async def register(db: Database, who: str, job: NewJob) -> int:
    """Begin, and be given a number."""
    rows = await db.rows("register", who, *(getattr(job, field) for field in NewJob.__struct_fields__))
    number: int = rows[0]["id"]
    return number


async def beat(db: Database, job_id: int) -> bool:
    """Say that the process is alive; false means that it was given up and must begin anew."""
    return bool(await db.rows("beat", job_id))


async def retire(db: Database, who: str, job_id: int) -> bool:
    """Leave in order."""
    return bool(await db.rows("retire", who, job_id))


async def suspect(db: Database, who: str) -> list[int]:
    """Note the processes whose locks were freed."""
    return [row["id"] for row in await db.rows("suspect", who, LOCKS_OF_PROCESSES)]


async def bury(db: Database, who: str, grace: timedelta, watch: Watch) -> list[Buried]:
    """Give up the processes that stayed silent too long, as far as the caller has watched them."""
    rows = await db.rows("bury", who, grace, watch.since, watch.until, watch.calm_since)
    return [Buried(row["id"], JobType(row["job_type"]), row["hostname"], row["why"]) for row in rows]


async def hold_lock(connection: Any, job_id: int) -> bool:
    """Take the lock of a job on a connection that lives as long as the process."""
    held: bool = await connection.fetchval(statement("hold_lock").text, LOCKS_OF_PROCESSES, job_id)
    return held


async def jobs_at_work(db: Database, job_type: JobType) -> AtWork:
    """List the running processes of a kind."""
    (row,) = await db.rows("jobs_at_work", job_type)
    return AtWork(row["now"], row["server_since"], row["ids"])


async def loads(db: Database) -> Sequence[Load]:
    """Tell how the waits are spread over the running triggerers."""
    return [Load(row["id"], row["capacity"], tuple(row["queues"]), row["load"]) for row in await db.rows("loads")]
