"""A task is cleared in whatever state it is, with all that follows: the run goes on as if that had never been."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from bide.model.outcome import Failed, Rescheduled, Skipped
from bide.model.retry import RetryPolicy
from bide.model.states import TaskState
from bide.store import deferral, legs, people, views
from bide.store.deferral import NewWait
from bide.store.rows import Leg
from tests.scheduler.town import NOW, WHO, Town, dag, task, words

S = TaskState
HOUR = timedelta(hours=1)
PLAN = dag(
    "d",
    task("a"),
    task("b", "a", retry=RetryPolicy(retries=1, delay=HOUR)),
    task("c", "b"),
    max_active_runs=5,
)


async def nothing(town: Town) -> None:
    """The run has not begun."""


async def started(town: Town) -> None:
    """The first has ended, the second is offered to workers."""
    await town.rounds.go()
    for one in await legs.start(town.db, WHO, town.worker, await views.offered(town.db, ["default"], 10)):
        await legs.succeed(town.db, WHO, [Leg(one.id, one.leg)])
        town.ran.append(one.task_id)
    await town.rounds.go()


async def running(town: Town) -> Leg:
    """A worker runs the second."""
    await started(town)
    (one,) = await legs.start(town.db, WHO, town.worker, await views.offered(town.db, ["default"], 10))
    return Leg(one.id, one.leg)


async def drained(town: Town) -> None:
    """Its worker leaves."""
    await legs.drain(town.db, WHO, [await running(town)])


async def deferred(town: Town) -> None:
    """It waits for something."""
    leg = await running(town)
    (number,) = await deferral.reserve_trigger_ids(town.db, 1)
    wait = NewWait(id=leg.id, leg=leg.leg, trigger_id=number, classpath="a.B", kwargs="sealed", next_method="go_on")
    await deferral.defer(town.db, WHO, [wait])


async def ended(town: Town, outcome: Failed | Skipped | Rescheduled | None, tries: int = 1) -> None:
    """It has ended so, as often as that."""
    for _ in range(tries):
        await town.play({"b": outcome} if outcome else {})
        if tries > 1:
            await town.pass_time(HOUR)


Way = Callable[[Town], Awaitable[object]]
WAYS: dict[S, Way] = {
    S.NONE: nothing,
    S.QUEUED: started,
    S.RUNNING: running,
    S.SHUTDOWN: drained,
    S.DEFERRED: deferred,
    S.UP_FOR_RETRY: lambda town: ended(town, Failed("no")),
    S.UP_FOR_RESCHEDULE: lambda town: ended(town, Rescheduled(after=HOUR)),
    S.SUCCESS: lambda town: ended(town, None),
    S.FAILED: lambda town: ended(town, Failed("no"), tries=2),
    S.SKIPPED: lambda town: ended(town, Skipped("no need")),
}


@pytest.mark.parametrize("state", WAYS)
async def test_a_task_that_is_cleared_in_any_state_runs_afresh_with_what_follows_it(town: Town, state: S) -> None:
    await town.store(PLAN)
    await town.launch(PLAN)
    await WAYS[state](town)
    if state is not S.NONE:
        assert (await town.states())["b"] is state
    town.ran.clear()
    (b,) = await town.ids("b")
    child = await town.connection.fetchval("select child_leg from task_instance where id = $1", b)
    await town.clear("b", "c")
    await town.play()
    if child is not None:
        # The old child may still be running, so nothing begins before it is gone.
        assert town.ran == []
        await legs.stopped(town.db, WHO, [Leg(b, child)])
        await town.play()
    assert town.ran[-2:] == ["b", "c"]
    assert words(await town.states()) == "a success, b success, c success"
    assert await town.run_states() == {"run": "success"}
    assert await town.connection.fetchval("select count(*) from trigger") == 0
    tries = await town.connection.fetchrow("select try_number, max_tries from task_instance where id = $1", b)
    assert tries["max_tries"] >= tries["try_number"]


async def test_an_upstream_failed_task_that_is_cleared_alone_is_judged_anew(town: Town) -> None:
    await town.store(PLAN)
    await town.launch(PLAN)
    await ended(town, Failed("no"), tries=2)
    assert (await town.states())["c"] is S.UPSTREAM_FAILED
    await town.clear("c")
    await town.play()
    assert words(await town.states()) == "a success, b failed, c upstream_failed"
    await people.mark(town.db, "person", HOUR, await town.ids("b"), S.SUCCESS)
    await town.clear("c")
    await town.play()
    assert words(await town.states()) == "a success, b success, c success"


async def test_a_removed_task_that_is_cleared_comes_back_only_if_it_is_in_the_dag_again(town: Town) -> None:
    await town.store(PLAN)
    await town.launch(PLAN)
    await town.rounds.go()
    without = dag("d", task("a"), task("c", "a"))
    await town.store(without)
    await town.rounds.go()
    assert (await town.states())["b"] is S.REMOVED
    await town.store(PLAN)
    await town.clear("b")
    await town.play()
    assert words(await town.states()) == "a success, b success, c success"


@pytest.mark.parametrize("state", [S.SUCCESS, S.FAILED, S.UP_FOR_RETRY])
async def test_runs_before_and_after_are_cleared_with_it_and_all_run_again(town: Town, state: S) -> None:
    await town.store(PLAN)
    for number, name in enumerate(("first", "second", "third")):
        await town.launch(PLAN, name, logical_date=NOW + number * HOUR)
    await WAYS[state](town)
    town.ran.clear()
    for name in ("first", "second", "third"):
        await town.clear("b", "c", run_id=name)
    await town.play()
    assert sorted(town.ran) == ["b"] * 3 + ["c"] * 3
    assert set((await town.run_states()).values()) == {"success"}
