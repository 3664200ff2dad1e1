"""Schedulers are killed at every commit boundary: whatever they had begun, others end it, once."""

import signal

from tests.process.eventually import eventually
from tests.system.site import PATIENCE_SEC, Site
from tests.system.verdict import check_all

BOUNDARIES = (
    "begin:after",
    "looks:after",
    "ready:before",
    "ready:after",
    "enqueue:before",
    # The task is queued, and no worker was told.
    "enqueue:after",
    "expand:after",
    "skip_unstarted:after",
    "pass_empty:after",
    "looked_at:before",
    "wake:after",
    "conclude:before",
    "conclude:after",
)
AT_ONCE = 3


async def test_wherever_a_scheduler_dies_others_go_on_and_nothing_happens_twice(here: Site) -> None:
    dying = {point: here.start("scheduler", fail_points=f"{point}:die") for point in BOUNDARIES}
    here.start("worker")
    launched = 0

    async def all_have_died() -> bool:
        nonlocal launched
        if launched - (await here.run_states())["success"] < AT_ONCE:
            launched += 1
            await here.launch("errand", f"run {launched}")
        return not any(scheduler.is_alive for scheduler in dying.values())

    try:
        await eventually(all_have_died, PATIENCE_SEC)
    except AssertionError:
        raise AssertionError(f"still alive: {[name for name, one in dying.items() if one.is_alive]}") from None
    assert {await scheduler.ended() for scheduler in dying.values()} == {-signal.SIGKILL}
    # Nobody else takes the launches away from this one.
    launches = here.start("scheduler", fail_points="launch:after:die")
    await here.hand.execute("update dag set is_paused = false where dag_id = 'daily'")
    assert await launches.ended() == -signal.SIGKILL
    here.start("scheduler")

    async def all_launched() -> bool:
        return bool(await here.hand.fetchval("select count(*) = 5 from dag_run where dag_id = 'daily'"))

    await eventually(all_launched, PATIENCE_SEC)
    await here.all_end()
    runs = await here.hand.fetch("select dag_id, state, count(*) as number from dag_run group by dag_id, state")
    assert {(row["dag_id"], row["state"]): row["number"] for row in runs} == {
        ("errand", "success"): launched,
        ("daily", "success"): 5,
    }
    await check_all(here.hand, here.notes())
