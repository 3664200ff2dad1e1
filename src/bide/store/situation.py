"""How the whole system stands; the statements are in sql/situation.sql."""

from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from bide.model.states import RunState, TaskState
from bide.store.database import Database
from bide.store.jobs import JobType
from bide.store.rows import filled

MOST = 1000
"""Lines of each kind that are looked at: whoever has more of them needs another tool than a list."""


class ServiceLine(Struct, frozen=True):
    """A process: whether it is alive, and how many legs or waits it has in hand."""

    id: int
    job_type: JobType
    hostname: str
    pid: int | None
    version: str | None
    queues: list[str]
    capacity: int | None
    start_date: datetime
    is_alive: bool
    is_over: bool
    heartbeat_age: timedelta
    load: int | None


class RunCount(Struct, frozen=True):
    """So many runs in a state, of DAGs that are paused or are not."""

    state: RunState
    is_paused: bool
    number: int


class TaskCount(Struct, frozen=True):
    """So many tasks in a state."""

    state: TaskState
    number: int


class QueueLoad(Struct, frozen=True):
    """What is there for a queue, how long the oldest of that has been there, and how many workers serve it."""

    queue: str
    number: int
    oldest: timedelta
    workers: int


class ImpossiblePool(Struct, frozen=True):
    """Tasks that want more slots of a pool than there are; `slots` is None where there is no such pool."""

    pool: str
    slots: int | None
    number: int
    needs: int


class FreeWaits(Struct, frozen=True):
    """Waits of a queue that nobody holds; the empty name means those without a queue."""

    queue: str
    number: int
    oldest: timedelta
    triggerers: int


class WaitCounts(Struct, frozen=True):
    """How many tasks wait; of their waits how many are held, free, put aside and timers; how many are overdue."""

    tasks: int
    held: int
    unclaimed: int
    parked: int
    timers: int
    overdue: int
    most_overdue: timedelta | None


class ParkedWaits(Struct, frozen=True):
    """Waits that are put aside for the same reason."""

    why: str
    number: int


class ServerFacts(Struct, frozen=True):
    """What a server says of itself; `size` in bytes."""

    clock: datetime
    clock_is_moved: bool
    max_connections: int
    connections: int
    keeps_commits: bool
    size: int


class SealedSample(Struct, frozen=True):
    """A sealed value and where it belongs."""

    kind: Literal["variable", "connection"]
    name: str
    sealed: str


async def list_services(db: Database) -> list[ServiceLine]:
    """List the processes, those that were given up of late at the end."""
    return filled(ServiceLine, await db.rows("list_services", MOST))


async def count_runs_by_state(db: Database) -> list[RunCount]:
    """Count the runs that are not over."""
    return filled(RunCount, await db.rows("count_runs_by_state"))


async def count_tasks_by_state(db: Database) -> list[TaskCount]:
    """Count the tasks of running runs that are not over."""
    return filled(TaskCount, await db.rows("count_tasks_by_state"))


async def queue_loads(db: Database) -> list[QueueLoad]:
    """Tell what is queued, and who serves it."""
    return filled(QueueLoad, await db.rows("queue_loads", MOST))


async def callback_loads(db: Database) -> list[QueueLoad]:
    """Tell which callbacks nobody has taken up yet, and who serves them."""
    return filled(QueueLoad, await db.rows("callback_loads", MOST))


async def impossible_pools(db: Database) -> list[ImpossiblePool]:
    """Find tasks that no pool will ever take."""
    return filled(ImpossiblePool, await db.rows("impossible_pools", MOST))


async def free_waits(db: Database) -> list[FreeWaits]:
    """Tell which waits nobody holds, and who could."""
    return filled(FreeWaits, await db.rows("free_waits", MOST))


async def count_waits(db: Database) -> WaitCounts:
    """Count what waits."""
    return filled(WaitCounts, await db.rows("count_waits"))[0]


async def parked_waits(db: Database) -> list[ParkedWaits]:
    """Tell which waits are put aside."""
    return filled(ParkedWaits, await db.rows("parked_waits", MOST))


async def count_import_errors(db: Database) -> int:
    """Count the files that cannot be used."""
    number: int = (await db.rows("count_import_errors"))[0]["number"]
    return number


async def examine_server(db: Database) -> ServerFacts:
    """Ask a server about itself."""
    return filled(ServerFacts, await db.rows("examine_server"))[0]


async def sealed_samples(db: Database, limit: int) -> list[SealedSample]:
    """Take samples of what is sealed."""
    return filled(SealedSample, await db.rows("sealed_samples", limit))
