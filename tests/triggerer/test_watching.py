"""A trigger that holds up its event loop is named while it does, and the others move on (T6, T7; reliability 22)."""

import os
import signal
from time import monotonic

import pytest

from bide.store.usage import busiest_triggers
from tests.process.eventually import eventually
from tests.triggerer.post import Post


async def test_t6_who_blocks_is_named_with_his_stack_and_his_neighbours_move_on(
    post: Post, caplog: pytest.LogCaptureFixture
) -> None:
    neighbours = await post.wait("Leaves", *[post.leaving] * 20)
    async with post.waiting(stuck_sec=60):
        await eventually(lambda: post.diary().count("run") == 20)
        (bad,) = await post.wait("Does", {"what": "blocks", "seconds": 4})
        await eventually(lambda: "has held its event loop" in caplog.text)
        assert "kinds.py" in caplog.text
        assert "in blocks" in caplog.text
        # They begin again elsewhere while the loop is still held.
        await eventually(lambda: post.diary().count("run") == 40, 4)
        post.go()
        began = monotonic()
        await post.ends(*neighbours)
        assert monotonic() - began < 3
        assert (await post.row(bad))["state"] == "deferred"
        assert await post.ends(bad) == ["blocked"]
    await post.logs(bad, "Strike 1 of 3: it held its event loop")
    assert "in blocks" in await post.log(bad)


async def test_t6_who_does_it_three_times_is_failed_with_the_evidence(post: Post) -> None:
    (bad,) = await post.wait("Does", {"what": "blocks_often"})
    async with post.waiting():
        (end,) = await post.ends(bad)
    assert end["error"] == "The trigger was stopped: it has harmed others 3 times."
    assert end["traceback"].count("in blocks_often") == 3


async def test_22_who_never_lets_go_is_killed_and_failed_in_the_end(post: Post) -> None:
    (good,) = await post.wait("Leaves", post.leaving)
    (bad,) = await post.wait("Does", {"what": "spins"})
    async with post.waiting(stuck_sec=0.8):
        (end,) = await post.ends(bad, within_sec=30)
        assert "3. " in end["traceback"]
        post.go()
        await post.ends(good)


@pytest.mark.parametrize(("what", "how"), [("crashes", "killed by SIGSEGV"), ("leaves_process", "exit code 7")])
async def test_22_who_ends_his_process_is_found_and_failed_while_others_go_on(post: Post, what: str, how: str) -> None:
    neighbours = await post.wait("Leaves", *[post.leaving] * 5)
    async with post.waiting():
        await eventually(lambda: post.diary().count("run") == 5)
        (bad,) = await post.wait("Does", {"what": what})
        (end,) = await post.ends(bad)
        assert end["traceback"].count(how) == 3
        await eventually(lambda: post.diary().count("run") == 10)
        post.go()
        await post.ends(*neighbours)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_runner_that_is_killed_or_frozen_from_outside_is_replaced_and_nobody_is_blamed(
    post: Post, number: int
) -> None:
    waits = await post.wait("Leaves", *[post.leaving] * 5)
    async with post.waiting() as at_work:
        await eventually(lambda: post.diary().count("run") == 5)
        (runner,) = at_work.service.runners
        os.kill(runner.pid, number)
        await eventually(lambda: post.diary().count("run") == 10)
        post.go()
        await post.ends(*waits)
    assert "Strike" not in await post.log(waits[0])
    assert len(await post.history("claim")) == 5


async def test_t7_what_triggers_use_is_counted_and_stored(post: Post) -> None:
    (busy,) = await post.wait("Does", {"what": "computes"})
    await post.wait("Leaves", *[post.leaving] * 3)
    async with post.waiting():

        async def told() -> bool:
            return bool(await busiest_triggers(post.db, 10))

        await eventually(told)
        first = (await busiest_triggers(post.db, 10))[0]
    assert (first.trigger_id, first.task_id) == (busy, "task_0")
    assert first.steps > 10
    assert first.longest_sec >= 0.004
    assert first.busy_sec > first.longest_sec
