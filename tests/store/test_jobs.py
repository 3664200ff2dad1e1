"""Processes come, beat, fall silent and are given up; the lock that one holds tells of its death at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import pytest

from bide.model.states import TaskState
from bide.store import holding, jobs
from bide.store.database import Database
from bide.store.jobs import Buried, JobType, Load, NewJob, Watch
from tests.process.eventually import eventually
from tests.store.scene import ALWAYS, NOW, TICK, Row, Scene, Wait, set_clock

WHO = "test"
GRACE = timedelta(seconds=2)
SECOND = timedelta(seconds=1)
LEASE = 10.5 * SECOND
HEARD = NOW - 60 * SECOND
"""When a process has beaten for the last time."""
TRIGGERER = NewJob(job_type=JobType.TRIGGERER, hostname="here", holds_lock=True, capacity=10, queues=("", "fast"))


@asynccontextmanager
async def process(url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """The connection that a process holds its lock on; at the end PostgreSQL has noticed that it is gone."""
    connection = await asyncpg.connect(url)
    pid = connection.get_server_pid()
    try:
        yield connection
    finally:
        connection.terminate()
        looking = await asyncpg.connect(url)
        await eventually(
            lambda: looking.fetchval("select not exists (select from pg_stat_activity where pid = $1)", pid)
        )
        await looking.close()


async def row(scene: Scene, job: int) -> dict[str, Any]:
    found = await scene.connection.fetchrow("select * from job where id = $1", job)
    assert found
    return dict(found)


async def test_what_a_process_says_of_itself_is_kept(db: Database, scene: Scene) -> None:
    given = NewJob(
        job_type=JobType.DAG_PROCESSOR,
        hostname="there",
        pid=4711,
        version="0.1",
        capacity=3,
        queues=("a", "b"),
        heartbeat_sec=0.5,
        holds_lock=True,
    )
    kept = await row(scene, await jobs.register(db, WHO, given))
    told = {field: getattr(given, field) for field in NewJob.__struct_fields__}
    rest = {"queues": ["a", "b"], "state": "running", "start_date": NOW, "latest_heartbeat": NOW, "end_date": None}
    assert kept.items() >= {**told, **rest}.items()
    (entry,) = await scene.connection.fetch("select * from history where job_id = $1", kept["id"])
    assert (entry["verb"], entry["from_state"], entry["to_state"], entry["who"]) == ("register", None, "running", WHO)


async def test_a_process_lives_as_long_as_it_beats(db: Database, scene: Scene) -> None:
    job = await jobs.register(db, WHO, NewJob(job_type=JobType.WORKER, hostname="here", heartbeat_sec=5))
    alive = {scene.worker, scene.triggerer}
    await scene.connection.execute("update job set heartbeat_sec = 1000 where id = any ($1)", list(alive))
    for beats in range(1, 4):
        await set_clock(scene.connection, NOW + beats * 10 * SECOND)
        assert await jobs.bury(db, WHO, GRACE, ALWAYS) == []
        assert await jobs.beat(db, job)
    await set_clock(scene.connection, NOW + 40.6 * SECOND)
    assert await jobs.bury(db, WHO, GRACE, ALWAYS) == [Buried(job, JobType.WORKER, "here", "its heartbeat is overdue")]
    # It was only frozen. It hears that it must begin anew, and nothing else of it counts any more.
    assert not await jobs.beat(db, job)
    assert not await jobs.retire(db, WHO, job)
    assert (await row(scene, job))["state"] == "failed"


async def test_a_process_that_retires_is_not_buried(db: Database, scene: Scene) -> None:
    job = await jobs.register(db, WHO, TRIGGERER)
    assert await jobs.retire(db, WHO, job)
    assert not await jobs.retire(db, WHO, job)
    await set_clock(scene.connection, NOW + timedelta(days=1))
    assert job not in await jobs.suspect(db, WHO)
    assert job not in {buried.id for buried in await jobs.bury(db, WHO, GRACE, ALWAYS)}


async def test_whoever_holds_its_lock_is_not_suspected_until_its_connection_is_gone(
    db: Database, scene: Scene, database: str
) -> None:
    job = await jobs.register(db, WHO, TRIGGERER)
    async with process(database) as connection:
        assert await jobs.hold_lock(connection, job)
        assert await jobs.suspect(db, WHO) == []
    assert await jobs.suspect(db, WHO) == [job]
    assert await jobs.suspect(db, WHO) == []  # once is enough
    # Long before its heartbeat is overdue, and not before the grace is over.
    await set_clock(scene.connection, NOW + GRACE - 0.1 * SECOND)
    assert await jobs.bury(db, WHO, GRACE, ALWAYS) == []
    await set_clock(scene.connection, NOW + GRACE)
    (buried,) = await jobs.bury(db, WHO, GRACE, ALWAYS)
    assert (buried.id, buried.why) == (job, "its lock was freed and it stayed silent")
    history = await scene.connection.fetch("select verb, why from history where job_id = $1 order by id", job)
    assert [tuple(entry) for entry in history] == [
        ("register", None),
        ("suspect", "its lock was freed"),
        ("bury", "its lock was freed and it stayed silent"),
    ]


async def test_a_process_that_lost_only_its_connection_clears_itself_by_beating(
    db: Database, scene: Scene, database: str
) -> None:
    job = await jobs.register(db, WHO, TRIGGERER)
    async with process(database) as connection:
        await jobs.hold_lock(connection, job)
    assert await jobs.suspect(db, WHO) == [job]
    assert await jobs.beat(db, job)
    async with process(database) as connection:
        assert await jobs.hold_lock(connection, job)
        await set_clock(scene.connection, NOW + 2 * GRACE)
        assert await jobs.suspect(db, WHO) == []
        assert await jobs.bury(db, WHO, GRACE, ALWAYS) == []


@pytest.mark.parametrize(
    ("since", "until", "is_buried"),
    [
        (HEARD, HEARD + LEASE + TICK, True),
        (HEARD, HEARD + LEASE - TICK, False),  # its lease has ended since, and nobody has looked at it since
        (HEARD + TICK, HEARD + LEASE + TICK, True),
        (HEARD + 2 * TICK, HEARD + LEASE + TICK, False),  # nobody looked when it may have been an outage
        (NOW, NOW, False),
        (NOW, NOW + timedelta(days=1), False),  # nobody has seen the future
    ],
)
@pytest.mark.parametrize("locked", [True, False], ids=["lost its lock", "has no lock"])
async def test_silence_counts_as_far_as_it_was_watched(
    db: Database, scene: Scene, since: datetime, until: datetime, is_buried: bool, locked: bool
) -> None:
    await scene.connection.execute("update job set heartbeat_sec = 1e6")
    job = await jobs.register(db, WHO, NewJob(job_type=JobType.WORKER, hostname="here", holds_lock=locked))
    await scene.connection.execute(
        "update job set latest_heartbeat = $2, suspected_at = $3 where id = $1", job, HEARD, HEARD if locked else None
    )
    buried = await jobs.bury(db, WHO, GRACE, Watch(since, until, since))
    assert [row.id for row in buried] == [job] * is_buried


@pytest.mark.parametrize(("calm", "is_buried"), [(LEASE, True), (LEASE - TICK, False)])
async def test_a_lost_lock_tells_at_once_unless_all_may_have_lost_theirs(
    db: Database, scene: Scene, calm: timedelta, is_buried: bool
) -> None:
    await scene.connection.execute("update job set heartbeat_sec = 1e6")
    job = await jobs.register(db, WHO, NewJob(job_type=JobType.WORKER, hostname="here", holds_lock=True))
    await scene.connection.execute("update job set suspected_at = $2 where id = $1", job, NOW - GRACE)
    buried = await jobs.bury(db, WHO, GRACE, Watch(NOW, NOW, NOW - calm))
    assert [row.id for row in buried] == [job] * is_buried


async def test_a_lock_is_held_by_one(db: Database, database: str) -> None:
    job = await jobs.register(db, WHO, TRIGGERER)
    async with process(database) as first, process(database) as second:
        assert await jobs.hold_lock(first, job)
        assert not await jobs.hold_lock(second, job)
        assert await jobs.hold_lock(second, job + 1)


async def test_processes_without_a_lock_are_not_suspected(db: Database, scene: Scene) -> None:
    await jobs.register(db, WHO, NewJob(job_type=JobType.WEB, hostname="here"))
    assert await jobs.suspect(db, WHO) == []


@pytest.mark.parametrize("number", [2**31 + 5, 2**31 * 3 + 2**31 - 1])
async def test_a_process_with_a_number_beyond_31_bits_has_a_lock_too(
    db: Database, scene: Scene, database: str, number: int
) -> None:
    await scene.connection.execute(f"alter table job alter column id restart with {number}")
    assert await jobs.register(db, WHO, TRIGGERER) == number
    async with process(database) as connection:
        assert await jobs.hold_lock(connection, number)
        assert await jobs.suspect(db, WHO) == []
    assert await jobs.suspect(db, WHO) == [number]


async def test_a_lock_of_another_kind_or_in_another_database_proves_nothing(
    db: Database, scene: Scene, database: str, empty_database: str
) -> None:
    job = await jobs.register(db, WHO, TRIGGERER)
    async with process(empty_database) as elsewhere, process(database) as here:
        assert await jobs.hold_lock(elsewhere, job)
        for lock in (f"pg_advisory_lock({job})", f"pg_advisory_lock({jobs.LOCKS_OF_PROCESSES + 1}, {job})"):
            await here.execute(f"select {lock}")
        assert await jobs.suspect(db, WHO) == [job]


async def test_of_many_who_look_one_suspects_and_one_buries(db: Database, scene: Scene) -> None:
    numbers = [await jobs.register(db, WHO, TRIGGERER) for _ in range(5)]
    suspected = await asyncio.gather(*(jobs.suspect(db, WHO) for _ in range(4)))
    assert sorted(job for jobs_found in suspected for job in jobs_found) == numbers
    await set_clock(scene.connection, NOW + GRACE)
    buried = await asyncio.gather(*(jobs.bury(db, WHO, GRACE, ALWAYS) for _ in range(4)))
    assert sorted(job.id for jobs_found in buried for job in jobs_found) == numbers


async def test_loads_tell_what_each_living_triggerer_holds_and_what_a_newcomer_is_handed(
    db: Database, scene: Scene
) -> None:
    placed = await scene.place([Row(TaskState.DEFERRED, "resume", wait=Wait("triggerer")) for _ in range(6)])
    await scene.place([Row(TaskState.DEFERRED, "resume", wait=Wait("dead triggerer")) for _ in range(3)])
    newcomer = await jobs.register(db, WHO, TRIGGERER)

    async def loads() -> list[Load]:
        return list(await jobs.loads(db))

    full = Load(scene.triggerer, None, (), 6)
    assert await loads() == [full, Load(newcomer, 10, ("", "fast"), 0)]
    # Hand-over: who has more than a fair share lets go, and who has less claims.
    held = [holding.Claim(one.trigger_id or 0, one.claim) for one in placed]
    released = await holding.release(db, WHO, scene.triggerer, held[:3], "handed over")
    assert released == [holding.Claim(wait.id, wait.claim + 1) for wait in held[:3]]
    taken = await holding.claim(db, WHO, newcomer, [""], 3)
    assert [(wait.id, wait.claim) for wait in taken] == [(wait.id, wait.claim + 2) for wait in held[:3]]
    assert [load.load for load in await loads()] == [3, 3]
    # The waits of the dead one are free for those who are left.
    assert len(await holding.orphan(db, WHO, 100)) == 3
    assert len(await holding.claim(db, WHO, newcomer, [""], 100)) == 3
    await holding.release_all(db, WHO, scene.triggerer, "it leaves")
    await jobs.retire(db, WHO, scene.triggerer)
    assert await loads() == [Load(newcomer, 10, ("", "fast"), 6)]
