"""What a sensor's wait comes to whose time is up: skipped if its author takes it softly, else failed for good."""

import json
from datetime import timedelta

import pytest

from bide.model.retry import RetryPolicy
from bide.model.states import TaskState
from bide.model.wait_over import FAILED_FOR_GOOD, SENSOR_TIMEOUT
from bide.store import deferral, legs, views
from bide.store.deferral import NewWait
from tests.scheduler.town import Town, dag, task

HOUR = timedelta(hours=1)


async def wait(town: Town) -> None:
    """Start what is queued, and let all of it wait."""
    await town.rounds.go()
    offered = await views.offered(town.db, ["default"], 100)
    started = await legs.start(town.db, "worker", town.worker, offered)
    waits = [
        NewWait(id=it.id, leg=it.leg, trigger_id=number, classpath="a.B", kwargs="sealed", next_method="go_on")
        for number, it in enumerate(started, 90)
    ]
    assert len(await deferral.defer(town.db, "worker", waits)) == len(started)


async def test_a_sensor_whose_time_is_up_in_its_wait_fails_for_good_or_is_skipped(town: Town) -> None:
    retry = RetryPolicy(retries=3)
    plan = dag(
        "sensors",
        task("hard", sensor_timeout=HOUR, retry=retry),
        task("soft", sensor_timeout=HOUR, retry=retry, soft_fail=True),
        task("in_time", sensor_timeout=3 * HOUR, soft_fail=True),
        task("after", "soft"),
    )
    await town.store(plan)
    await town.launch(plan)
    await wait(town)
    await town.pass_time(HOUR)
    await town.rounds.go()
    states = await town.states()
    assert states == {
        "hard": TaskState.FAILED,
        "soft": TaskState.SKIPPED,
        "in_time": TaskState.DEFERRED,
        "after": TaskState.SKIPPED,
    }
    why = await town.connection.fetch("select why from history where verb = 'skip'")
    assert [row["why"] for row in why] == ["Skipped instead of failing: Sensor timeout"]


@pytest.mark.parametrize(
    ("reason", "soft_fail", "state"),
    [
        (SENSOR_TIMEOUT, False, "failed"),
        (FAILED_FOR_GOOD, False, "failed"),
        (FAILED_FOR_GOOD, True, "skipped"),
        ("trigger_failed", True, "up_for_retry"),
        ("trigger_timeout", True, "skipped"),
        ("trigger_timeout", False, "up_for_retry"),
    ],
)
async def test_what_a_failed_wait_comes_to_depends_on_why(town: Town, reason: str, soft_fail: bool, state: str) -> None:
    plan = dag("sensors", task("it", soft_fail=soft_fail, retry=RetryPolicy(retries=1)))
    await town.store(plan)
    await town.launch(plan)
    await wait(town)
    error = json.dumps({"error": "it broke", "reason": reason})
    wait_id, claim = await town.connection.fetchrow("select id, claim from trigger")
    await deferral.crash(town.db, "triggerer", [deferral.Crashed(wait_id, claim, error, "it broke")])
    await town.rounds.go()
    assert (await town.states())["it"] == state
