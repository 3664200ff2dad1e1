"""What the services look at before they say something; the statements are in sql/views.sql."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bide.model.states import TaskState
from bide.store.database import Database
from bide.store.holding import Claim
from bide.store.rows import Leg


class PoolRoom(Struct, frozen=True):
    """A pool and the slots that are free in it; fewer than none after somebody has made it smaller."""

    name: str
    slots: int
    free: int


class Busy(Struct, frozen=True):
    """How many instances of a task take room in a run."""

    dag_id: str
    dag_run_id: int
    task_id: str
    number: int


class Candidate(Struct, frozen=True):
    """A task instance that may be queued if there is room."""

    id: int
    leg: int
    dag_run_id: int
    dag_id: str
    task_id: str
    pool: str
    pool_slots: int
    priority_weight: int
    max_active_tis_per_dag: int | None
    max_active_tis_per_dagrun: int | None
    max_active_tasks: int
    resumes: bool
    dag_version_id: int | None
    queue: str


class Failing(Struct, frozen=True):
    """A leg that has only to fail."""

    id: int
    leg: int
    dag_run_id: int
    dag_id: str
    task_id: str
    map_index: int
    try_number: int
    max_tries: int
    next_kwargs: str
    dag_version_id: int | None


class Agenda(Struct, frozen=True):
    """What there is to do for a scheduler, and how long it is until the next date; negative if one is past."""

    looks: bool
    scheduled: bool
    failing: bool
    queued: bool
    outdated: bool
    launches: bool
    until_due: timedelta | None


class DueDag(Struct, frozen=True):
    """A DAG whose next run is due, and since when."""

    dag_id: str
    version_id: int
    next_run_at: datetime


class OutdatedRun(Struct, frozen=True):
    """A run that is not over, and the latest version of its DAG, which is not its own."""

    id: int
    dag_id: str
    version_id: int


class HeldLeg(Struct, frozen=True):
    """A leg whose child may run on a worker. Where `leg` is greater, it was taken away and the child must stop."""

    id: int
    child_leg: int
    leg: int
    state: TaskState


PART = 4096
"""So many numbers of waits make one part."""


class PartOfWaits(Struct, frozen=True):
    """What a triggerer holds of one part, in sums."""

    part: int
    number: int
    checks: int


def check_of(claim: Claim) -> int:
    """Return what a wait adds to the checks of its part, as the database reckons it."""
    return (claim.id % PART * 4099 + claim.claim) ** 2 % 1_000_000_007


class Expiring(Struct, frozen=True):
    """A run that is out of time, with the tasks that have still to be stopped."""

    id: int
    epoch: int
    tasks: tuple[int, ...]


async def current_turn(db: Database) -> int:
    """Read the turn; do it before counting the room."""
    number: int = (await db.rows("current_turn"))[0]["number"]
    return number


async def pool_room(db: Database) -> list[PoolRoom]:
    """Count the free slots of each pool."""
    return [PoolRoom(**row) for row in await db.rows("pool_room")]


async def busy(db: Database) -> list[Busy]:
    """Count what takes room."""
    return [Busy(**row) for row in await db.rows("busy")]


async def candidates(
    db: Database,
    pools: Sequence[str],
    limit: int,
    without_runs: Collection[int] = (),
    without_tasks: Collection[tuple[str, str]] = (),
    without_tasks_of_runs: Collection[tuple[int, str]] = (),
) -> list[Candidate]:
    """List what may be queued, the most urgent first, of each pool at most so many; what met a limit is left out."""
    rows = await db.rows(
        "candidates", pools, limit, list(without_runs), *_sides(without_tasks), *_sides(without_tasks_of_runs)
    )
    return [Candidate(**row) for row in rows]


def _sides(pairs: Collection[tuple[object, str]]) -> tuple[list[object], list[str]]:
    return [first for first, _ in pairs], [second for _, second in pairs]


async def beginnable(db: Database, limit: int) -> list[int]:
    """List queued runs that may begin."""
    return [row["id"] for row in await db.rows("beginnable", limit)]


async def agenda(db: Database) -> Agenda:
    """Look whether there is something to do."""
    return Agenda(**(await db.rows("agenda"))[0])


async def due_dags(db: Database, limit: int) -> list[DueDag]:
    """List DAGs whose next run is due."""
    return [DueDag(**row) for row in await db.rows("due_dags", limit)]


async def outdated_runs(db: Database, limit: int) -> list[OutdatedRun]:
    """List runs that have to adopt a newer version."""
    return [OutdatedRun(**row) for row in await db.rows("outdated_runs", limit)]


async def strangers(db: Database, run_ids: Sequence[int], task_ids: Sequence[str]) -> list[int]:
    """List unfinished tasks that a version does not know."""
    return [row["id"] for row in await db.rows("strangers", run_ids, task_ids)]


async def failing(db: Database, limit: int) -> list[Failing]:
    """List the legs that have only to fail."""
    return [Failing(**row) for row in await db.rows("failing", limit)]


async def offered(db: Database, queues: Sequence[str], limit: int) -> list[Leg]:
    """List queued legs of these queues, the most urgent first."""
    return [Leg(row["id"], row["leg"]) for row in await db.rows("offered", queues, limit)]


async def legs_of(db: Database, worker_id: int) -> list[HeldLeg]:
    """List what the database says that a worker's children run."""
    rows = await db.rows("legs_of", worker_id)
    return [HeldLeg(row["id"], row["child_leg"], row["leg"], TaskState(row["state"])) for row in rows]


async def waits_of(db: Database, triggerer_id: int) -> list[Claim]:
    """List what the database says that a triggerer holds."""
    return [Claim(**row) for row in await db.rows("waits_of", triggerer_id)]


async def parts_of_waits(db: Database, triggerer_id: int) -> list[PartOfWaits]:
    """Sum up what the database says that a triggerer holds."""
    return [PartOfWaits(**row) for row in await db.rows("parts_of_waits", triggerer_id)]


async def waits_in_parts(db: Database, triggerer_id: int, parts: Sequence[int]) -> list[Claim]:
    """List what the database says that a triggerer holds, of some parts."""
    return [Claim(**row) for row in await db.rows("waits_in_parts", triggerer_id, parts)]


async def expiring(db: Database, limit: int) -> list[Expiring]:
    """List runs that are out of time."""
    return [Expiring(row["id"], row["epoch"], tuple(row["tasks"])) for row in await db.rows("expiring", limit)]
