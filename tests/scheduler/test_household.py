"""Who is gone is given up; who could not speak, because nobody could, is not."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from bide.scheduler.household import Household
from bide.store import jobs
from bide.store.jobs import JobType, NewJob
from tests.scheduler.town import NOW, WHO, Town

SECOND = timedelta(seconds=1)
BEATS = NewJob(job_type=JobType.WORKER, hostname="here", heartbeat_sec=5)


@dataclass
class Watched:
    """A scheduler that looks every second, and processes that it looks at."""

    town: Town
    household: Household
    now: datetime = NOW
    server_since: datetime = NOW - timedelta(days=1)

    async def passes(self, time: timedelta, beating: Sequence[int] = ()) -> None:
        """Let time pass, in which it looks every second; these beat meanwhile."""
        end = self.now + time
        while self.now < end:
            await self.jumps(SECOND)
            for job in beating:
                await jobs.beat(self.town.db, job)
            await self.household.notice_the_dead(self.now, self.server_since)

    async def jumps(self, time: timedelta) -> None:
        """Let time pass, or the clock be set, while nobody looks."""
        self.now += time
        await self.town.connection.execute("update clock set frozen_at = $1", self.now)

    async def given_up(self) -> list[int]:
        """Return the processes that were given up."""
        rows = await self.town.connection.fetch("select id from job where state = 'failed' order by id")
        return [row["id"] for row in rows]


@pytest.fixture
def watched(town: Town) -> Watched:
    return Watched(town, Household(town.db, WHO, 100))


async def test_who_falls_silent_is_given_up_after_a_lease_plus_one_look(town: Town, watched: Watched) -> None:
    alive, dead = [await jobs.register(town.db, WHO, BEATS) for _ in range(2)]
    await watched.passes(20 * SECOND, [alive, dead])
    await watched.passes(10 * SECOND, [alive])
    assert await watched.given_up() == []
    await watched.passes(SECOND, [alive])
    assert await watched.given_up() == [dead]


@pytest.mark.parametrize("gap", [3 * SECOND, 60 * SECOND, timedelta(hours=1)])
@pytest.mark.parametrize("first", [True, False], ids=["it came back first", "it came back last"])
async def test_after_an_outage_a_sleep_or_a_jump_of_the_clock_everybody_has_a_lease_to_come_back(
    town: Town, watched: Watched, gap: timedelta, first: bool
) -> None:
    alive, dead = [await jobs.register(town.db, WHO, BEATS) for _ in range(2)]
    await watched.passes(20 * SECOND, [alive, dead])
    await watched.jumps(gap)
    if first:
        await watched.passes(10 * SECOND)
    assert await watched.given_up() == []
    await watched.passes(10 * SECOND, [alive])
    assert await watched.given_up() == ([dead] if first else [])
    await watched.passes(2 * SECOND, [alive])
    assert await watched.given_up() == [dead]


async def test_a_clock_that_is_set_back_costs_nobody_its_lease(town: Town, watched: Watched) -> None:
    job = await jobs.register(town.db, WHO, BEATS)
    await watched.passes(20 * SECOND, [job])
    await watched.jumps(-timedelta(hours=1))
    await watched.passes(8 * SECOND)
    await watched.passes(30 * SECOND, [job])
    assert await watched.given_up() == []
    await watched.passes(11 * SECOND)
    assert await watched.given_up() == [job]


async def test_lost_locks_prove_nothing_after_an_outage_in_which_all_were_lost(town: Town, watched: Watched) -> None:
    locked = NewJob(job_type=JobType.WORKER, hostname="here", heartbeat_sec=5, holds_lock=True)
    job = await jobs.register(town.db, WHO, locked)
    await watched.passes(20 * SECOND, [job])
    await watched.jumps(3 * SECOND)
    await watched.passes(5 * SECOND)
    assert await watched.given_up() == []
    # Whoever has watched for long gives it up as soon as the grace is over.
    await watched.passes(20 * SECOND, [job])
    await watched.passes(SECOND)
    assert await watched.given_up() == [job]


async def test_who_has_just_begun_to_watch_believes_in_a_lost_lock_if_the_server_did_not_just_begin_too(
    town: Town, watched: Watched
) -> None:
    locked = NewJob(job_type=JobType.WORKER, hostname="here", heartbeat_sec=5, holds_lock=True)
    job = await jobs.register(town.db, WHO, locked)
    await watched.passes(2 * SECOND)
    assert await watched.given_up() == [job]
    other = await jobs.register(town.db, WHO, locked)
    await watched.passes(SECOND, [other])
    watched.server_since = watched.now
    await watched.passes(10 * SECOND)
    assert await watched.given_up() == [job]
    await watched.passes(SECOND)
    assert await watched.given_up() == [job, other]


async def test_who_has_just_begun_to_watch_gives_nobody_up_for_a_late_heartbeat(town: Town, watched: Watched) -> None:
    job = await jobs.register(town.db, WHO, BEATS)
    await watched.jumps(timedelta(hours=1))
    await watched.passes(11 * SECOND)
    assert await watched.given_up() == []
    await watched.passes(SECOND)
    assert await watched.given_up() == [job]
