"""Schedulers and triggerers are killed at every commit boundary: whatever they had begun, others end it, once."""

import signal
from collections.abc import Iterable, Mapping

from tests.system.site import Service, Site, patiently
from tests.system.verdict import check_all

SCHEDULER = (
    "begin:after",
    "ready:after",
    # The task is queued, and no worker was told.
    "enqueue:after",
    "expand:after",
    "skip_unstarted:after",
    "pass_empty:after",
    "looked_at:before",
    "wake:after",
    "conclude:after",
)
TRIGGERER = ("claim:after", "fire:before", "fire:after", "end:after", "crash:before")
AT_ONCE = 3


def dying(here: Site, kind: str, points: Iterable[str]) -> Mapping[str, Service]:
    """Start a service for each point, which dies there."""
    return {point: here.start(kind, fail_points=f"{point}:die", triggerer__runners=1) for point in points}


async def all_die(here: Site, services: Mapping[str, Service], dag_id: str) -> int:
    """Launch runs until all of these have died, and return how many there are."""
    launched = 0

    async def have_died() -> bool:
        nonlocal launched
        if launched - (await here.run_states())["success"] < AT_ONCE:
            launched += 1
            await here.launch(dag_id, f"run {launched}")
        return not any(service.is_alive for service in services.values())

    try:
        await patiently(have_died)
    except AssertionError:
        raise AssertionError(f"still alive: {[name for name, one in services.items() if one.is_alive]}") from None
    assert {await service.ended() for service in services.values()} == {-signal.SIGKILL}
    return launched


async def test_wherever_a_scheduler_dies_others_go_on_and_nothing_happens_twice(here: Site) -> None:
    here.start("worker")
    launched = await all_die(here, dying(here, "scheduler", SCHEDULER), "errand")
    # Nobody else takes the launches away from this one.
    (launches,) = dying(here, "scheduler", ["launch:after"]).values()
    await here.hand.execute("update dag set is_paused = false where dag_id = 'daily'")
    assert await launches.ended() == -signal.SIGKILL
    here.start("scheduler")

    async def all_launched() -> bool:
        return bool(await here.hand.fetchval("select count(*) = 5 from dag_run where dag_id = 'daily'"))

    await patiently(all_launched)
    await here.all_end()
    runs = await here.hand.fetch("select dag_id, state, count(*) as number from dag_run group by dag_id, state")
    assert {(row["dag_id"], row["state"]): row["number"] for row in runs} == {
        ("errand", "success"): launched,
        ("daily", "success"): 5,
    }
    await check_all(here.hand, here.notes())


async def test_wherever_a_triggerer_dies_each_wait_ends_once_and_its_task_goes_on(here: Site) -> None:
    here.start("scheduler")
    here.start("worker")
    launched = await all_die(here, dying(here, "triggerer", TRIGGERER), "waiting")
    here.start("triggerer")
    await here.all_end()
    assert await here.run_states() == {"success": launched}
    await check_all(here.hand, here.notes())
