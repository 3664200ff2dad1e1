"""Commits that report an error, answers that are lost, errors that nobody expects: nothing is lost or done twice."""

from tests.system.site import Site, patiently
from tests.system.verdict import check_all

POINTS = {
    "scheduler": (
        "agenda:before:raise",
        "jobs_at_work:before:raise",
        "begin:after:raise",
        "looks:after:lose",
        "ready:after:raise",
        "enqueue:after:lose",
        "expand:after:raise",
        "skip_unstarted:after:lose",
        "pass_empty:after:raise",
        "looked_at:before:raise",
        "wake:after:lose",
        "fire_due:after:raise",
        "lapse:after:lose",
        "fail:after:raise",
        "conclude:after:raise",
    ),
    "worker": (
        "offered:after:raise",
        # The answer is lost, so it does not know what it has: the comparison finds it.
        "start:after:lose",
        "succeed:after:raise",
        "fail:after:lose",
        "reschedule:after:raise",
        "defer:after:lose",
        "append_log:before:raise",
        "legs_of:before:raise",
        "record_legs:before:raise",
    ),
    "triggerer": (
        "claim:after:lose",
        "fire:before:lose",
        "fire:after:raise",
        "end:after:lose",
        "crash:after:raise",
        "parts_of_waits:before:raise",
    ),
}
RUNS = 2


async def test_whatever_is_lost_or_raised_beside_a_commit_nothing_is_lost_or_done_twice(here: Site) -> None:
    services = {kind: here.start(kind, fail_points=",".join(points)) for kind, points in POINTS.items()}
    for number in range(RUNS):
        await here.launch("errand", f"errand {number}")
        await here.launch("waiting", f"waiting {number}")
    await here.all_end()
    assert await here.run_states() == {"success": 2 * RUNS}
    await patiently(lambda: all(services[kind].said("is met.") == len(POINTS[kind]) for kind in POINTS))
    assert all(service.is_alive for service in services.values())
    await check_all(here.hand, here.notes())
