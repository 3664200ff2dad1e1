"""What will not move by itself, and what would move it: in sentences, from what the situation says."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from msgspec import Struct

from bide.store import control, situation
from bide.store.control import Pool
from bide.store.database import Database
from bide.store.jobs import JobType
from bide.store.situation import (
    FreeWaits,
    ImpossiblePool,
    ParkedWaits,
    QueueLoad,
    RunCount,
    ServiceLine,
    TaskCount,
    WaitCounts,
)

LONG = timedelta(minutes=1)
"""Whoever has asked to be called back hears of it sooner, normally within a second."""
PATIENCE = timedelta(seconds=10)
"""What has been free for less than this has only not been taken yet."""

_NEEDED = {JobType.SCHEDULER: "bide scheduler", JobType.DAG_PROCESSOR: "bide dag-processor"}
_CALLED = {JobType.SCHEDULER: "scheduler", JobType.DAG_PROCESSOR: "DAG processor"}
_WITHOUT = {
    JobType.SCHEDULER: "no run is launched and no task is started",
    JobType.DAG_PROCESSOR: "changes in DAG files are not noticed",
}


class Situation(Struct, frozen=True):
    """How the whole system stands."""

    services: list[ServiceLine]
    runs: list[RunCount]
    tasks: list[TaskCount]
    queues: list[QueueLoad]
    callbacks: list[QueueLoad]
    pools: list[Pool]
    impossible: list[ImpossiblePool]
    waits: WaitCounts
    free_waits: list[FreeWaits]
    parked_waits: list[ParkedWaits]
    import_errors: int


async def survey(db: Database) -> Situation:
    """Look at everything."""
    return Situation(
        await situation.list_services(db),
        await situation.count_runs_by_state(db),
        await situation.count_tasks_by_state(db),
        await situation.queue_loads(db),
        await situation.callback_loads(db),
        await control.pools(db),
        await situation.impossible_pools(db),
        await situation.count_waits(db),
        await situation.free_waits(db),
        await situation.parked_waits(db),
        await situation.count_import_errors(db),
    )


def stuck(found: Situation) -> list[str]:
    """Say what is stuck."""
    return [
        *_missing(found.services),
        *_silent(found.services),
        *(_unserved(queue) for queue in found.queues if queue.workers == 0),
        *(_uncalled(queue) for queue in found.callbacks if queue.workers == 0 or queue.oldest > LONG),
        *(_impossible(pool) for pool in found.impossible),
        *(_full(pool) for pool in found.pools if pool.scheduled and free(pool) <= 0),
        *_paused(found.runs),
        *stuck_waits(found.waits, found.free_waits, found.parked_waits),
        *_broken(found.import_errors),
    ]


def stuck_waits(counts: WaitCounts, free: Sequence[FreeWaits], parked: Sequence[ParkedWaits]) -> list[str]:
    """Say what of the waits is stuck."""
    return [
        *(_unwatched(waits) for waits in free if waits.triggerers == 0),
        *(_unheld(waits) for waits in free if waits.triggerers and waits.oldest > PATIENCE),
        *(f"{_count(waits.number, 'wait')} put aside: {waits.why}" for waits in parked),
        *_overdue(counts),
    ]


def free(pool: Pool) -> int:
    """Count the slots that are free; fewer than none after somebody has made it smaller."""
    return pool.slots - pool.queued - pool.running - (pool.deferred if pool.include_deferred else 0)


def _missing(services: Sequence[ServiceLine]) -> Iterator[str]:
    there = {service.job_type for service in services if service.is_alive}
    for kind, command in _NEEDED.items():
        if kind not in there:
            yield f"No {_CALLED[kind]} is alive, so {_WITHOUT[kind]}: start `bide up`, or `{command}` alone."


def _silent(services: Sequence[ServiceLine]) -> Iterator[str]:
    for one in services:
        if not one.is_alive and not one.is_over:
            yield (
                f"{one.job_type} {one.id} on {one.hostname} has been silent for {_seconds(one.heartbeat_age)}; what it "
                "has in hand goes to others as soon as a scheduler has given it up."
            )


def _unserved(queue: QueueLoad) -> str:
    return (
        f"{_count(queue.number, 'task')} queued in {queue.queue!r}, which no living worker serves: start one for it, "
        "or correct the queue in the DAG."
    )


def _uncalled(queue: QueueLoad) -> str:
    calls = _count(queue.number, "callback")
    if queue.workers == 0:
        return f"{calls} for {queue.queue!r}, which no living worker serves: start one for it."
    return (
        f"{calls} for {queue.queue!r} not made yet, one for {_seconds(queue.oldest)}: each worker makes four at a "
        "time, so start another one, or see in the logs which of them take so long."
    )


def _impossible(pool: ImpossiblePool) -> str:
    tasks = _count(pool.number, "task")
    if pool.slots is None:
        return f"The pool {pool.pool!r} does not exist: make it with `bide pools set` for {tasks}."
    slots = _count(pool.slots, "slot")
    return (
        f"The pool {pool.pool!r} has {slots}, and up to {pool.needs} are needed by each of {tasks}: give it more with "
        "`bide pools set`."
    )


def _full(pool: Pool) -> str:
    return (
        f"The pool {pool.name!r} is full: {_count(pool.scheduled, 'slot')} wanted, {pool.slots} there. It moves on as "
        "its tasks end; `bide pools set` gives it more."
    )


def _paused(runs: Sequence[RunCount]) -> Iterator[str]:
    number = sum(count.number for count in runs if count.is_paused)
    if number:
        yield f"{_count(number, 'run')} of paused DAGs: `bide dags unpause` lets them go on."


def _unwatched(waits: FreeWaits) -> str:
    which = f"of the queue {waits.queue!r}" if waits.queue else "without a queue"
    command = f"bide triggerer --queues {waits.queue}" if waits.queue else "bide triggerer"
    return f"{_count(waits.number, 'wait')} {which}, which no living triggerer serves: start `{command}`."


def _unheld(waits: FreeWaits) -> str:
    return (
        f"{_count(waits.number, 'wait')} held by nobody, the oldest for {_seconds(waits.oldest)}, although "
        f"{_count(waits.triggerers, 'triggerer')} could: most likely they are full, so start another one."
    )


def _overdue(counts: WaitCounts) -> Iterator[str]:
    if counts.most_overdue is not None and counts.most_overdue > PATIENCE:
        yield (
            f"{_count(counts.overdue, 'wait')} overdue, one for {_seconds(counts.most_overdue)}: a scheduler that is "
            "alive ends them at once; `bide waits list --overdue` shows them."
        )


def _broken(import_errors: int) -> Iterator[str]:
    if import_errors:
        yield f"{_count(import_errors, 'DAG file')} with errors: `bide dags errors` says why."


def _seconds(time: timedelta) -> str:
    return f"{time.total_seconds():.0f} s"


def _count(number: int, one: str) -> str:
    return f"{number:,} {one}" if number == 1 else f"{number:,} {one}s"
