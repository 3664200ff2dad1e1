"""Who holds a wait, whatever becomes of triggerers: killed, frozen, told to leave, joined by others."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from time import monotonic

from bide.children.warm import children_of
from bide.scheduler.household import Household
from bide.store import jobs
from bide.store.jobs import JobType
from tests.process.eventually import eventually
from tests.triggerer.post import Post, Process
from tests.worker.processes import is_alive

NUMBER = 60


@asynccontextmanager
async def scheduler(post: Post) -> AsyncIterator[None]:
    """Let somebody notice who is dead, as schedulers do."""

    household = Household(post.db, "scheduler", 1000)

    async def notice() -> None:
        while True:
            seen = await jobs.jobs_at_work(post.db, JobType.SCHEDULER)
            await household.notice_the_dead(seen.now, seen.server_since)
            await asyncio.sleep(0.1)

    task = asyncio.create_task(notice())
    yield
    task.cancel()


@asynccontextmanager
async def two(post: Post) -> AsyncIterator[tuple[Process, Process]]:
    """Start a triggerer that takes all waits, and then another one."""
    await post.wait("Leaves", *[post.leaving] * NUMBER)
    first = await post.process()
    await post.are_held(NUMBER)
    second = await post.process()
    try:
        yield first, second
    finally:
        for one in (first, second):
            if one.process.returncode is None:
                os.kill(one.process.pid, signal.SIGCONT)
            await one.end()


async def holds(post: Post, job: int, number: int, within_sec: float = 10) -> None:
    """Wait until a triggerer holds at least so many waits, and none is free."""

    async def there() -> bool:
        held = await post.held()
        return held.get(job, 0) >= number and sum(held.values()) == NUMBER

    await eventually(there, within_sec)


async def test_t2_a_newcomer_is_given_its_share_and_no_on_kill_runs_for_that(post: Post) -> None:
    async with two(post) as (first, second):
        await holds(post, second.job, NUMBER // 3)
        await holds(post, first.job, NUMBER // 3)
        await eventually(lambda: post.diary().count("run") - post.diary().count("cleanup") == NUMBER)
    assert not any("on_kill" in word for word in post.diary())


async def test_t5_on_sigterm_others_have_everything_at_once_and_cleanup_has_run(post: Post) -> None:
    async with two(post) as (first, second):
        await holds(post, second.job, NUMBER // 3)
        began = monotonic()
        await asyncio.gather(first.end(signal.SIGTERM), holds(post, second.job, NUMBER))
        assert monotonic() - began < 5
        assert first.process.returncode == 0
        await eventually(lambda: post.diary().count("run") - post.diary().count("cleanup") == NUMBER)
    assert not any("on_kill" in word for word in post.diary())
    assert (await post.history("retire"))[0] == ("retire", None)


async def test_t4_what_a_killed_triggerer_held_runs_elsewhere_and_each_task_goes_on_once(post: Post) -> None:
    async with two(post) as (first, second), scheduler(post):
        await holds(post, second.job, NUMBER // 3)
        children = children_of(first.process.pid)
        assert children
        await first.end(signal.SIGKILL)
        await holds(post, second.job, NUMBER)
        await eventually(lambda: not any(is_alive(child) for child in children))
        post.go()
        await post.ends(*post.tasks)
    assert len(await post.history("fire")) == NUMBER


async def test_7_a_frozen_triggerer_that_wakes_up_drops_everything_without_on_kill_and_registers_anew(
    post: Post,
) -> None:
    async with two(post) as (first, second), scheduler(post):
        await holds(post, second.job, NUMBER // 3)
        first.process.send_signal(signal.SIGSTOP)
        await holds(post, second.job, NUMBER, within_sec=20)
        # Its runners were not frozen, and yield their events; nobody hears them any more.
        post.go()
        await post.ends(*post.tasks)
        first.process.send_signal(signal.SIGCONT)

        async def is_back() -> bool:
            return bool(
                await post.connection.fetchval(
                    "select count(*) from job where pid = $1 and state = 'running'", first.process.pid
                )
            )

        await eventually(is_back, 20)
    assert len(await post.history("fire")) == NUMBER
    assert not any("on_kill" in word for word in post.diary())


async def test_a_wait_that_was_taken_away_is_let_go(post: Post) -> None:
    (number,) = await post.wait("Leaves", post.leaving)
    async with post.waiting() as at_work:
        await post.are_held(1)
        await eventually(lambda: "run" in post.diary())
        await post.connection.execute("update trigger set triggerer_id = null, claim = claim + 1")
        at_work.ring()
        await eventually(lambda: post.diary().count("run") == 2)
        post.go()
        await post.ends(number)
        await eventually(lambda: post.diary().count("cleanup") == 2)
    assert "on_kill" not in " ".join(post.diary())


async def test_a_cleared_wait_runs_its_on_kill_on_the_trigger_that_waits_and_cleans_up(post: Post) -> None:
    (number,) = await post.wait("Leaves", post.leaving, on_kill=True)
    async with post.waiting() as at_work:
        await eventually(lambda: "run" in post.diary())
        await post.clear(number)
        at_work.ring()
        await eventually(lambda: "cleanup" in post.diary())

        async def acknowledged() -> bool:
            return bool(await post.history("acknowledge"))

        await eventually(acknowledged)
    assert post.diary() == ["run", "cancelled", "on_kill cleared", "cleanup"]
    assert await post.connection.fetchval("select count(*) from kill") == 0


async def test_on_kill_runs_on_a_new_trigger_where_nobody_holds_the_wait_any_more(post: Post) -> None:
    (number,) = await post.wait("Leaves", post.leaving, on_kill=True)
    await post.clear(number)
    async with post.waiting():

        async def acknowledged() -> bool:
            return bool(await post.history("acknowledge"))

        await eventually(acknowledged)
        await eventually(lambda: "cleanup" in post.diary())
    assert post.diary() == ["on_kill cleared", "cleanup"]


async def test_a_timeout_runs_on_kill_with_its_reason(post: Post) -> None:
    (number,) = await post.wait("Leaves", post.leaving, on_kill=True, timeout=timedelta(seconds=0.1))
    async with post.waiting() as at_work:
        await eventually(lambda: "run" in post.diary())

        async def lapsed() -> bool:
            return bool(await post.lapse())

        await eventually(lapsed)
        at_work.ring()
        await eventually(lambda: "on_kill timed_out" in post.diary())
        (end,) = await post.ends(number)
    assert end["reason"] == "trigger_timeout"
