"""Room: pools, limits of DAGs, runs and tasks, priorities; never exceeded, never starved."""

from datetime import timedelta

import pytest

from bide.model.plan import WeightRule
from bide.store import views
from tests.scheduler.town import Town, dag, task


async def queued(town: Town) -> list[str]:
    """What a round queues, in the order in which a worker is offered it."""
    await town.rounds.go()
    rows = await views.offered(town.db, ["default"], 1000)
    names = {
        row["id"]: f"{row['run_id']}.{row['task_id']}" if row["run_id"] != "run" else row["task_id"]
        for row in await town.connection.fetch("select id, run_id, task_id from task_instance")
    }
    return [names[row.id] for row in rows]


async def test_a_pool_gives_its_slots_and_no_more(town: Town) -> None:
    await town.connection.execute("insert into pool (name, slots) values ('small', 3)")
    plan = dag("p", *(task(f"t{n}", pool="small", pool_slots=1 + n % 2) for n in range(6)))
    await town.store(plan)
    await town.launch(plan)
    assert await queued(town) == ["t0", "t1"]
    await town.play(legs_at_once=1)
    assert sorted(town.ran) == [f"t{n}" for n in range(6)]


async def test_a_large_task_is_not_passed_by_small_ones_forever(town: Town) -> None:
    await town.connection.execute("insert into pool (name, slots) values ('small', 2)")
    plan = dag(
        "p",
        task("first", pool="small", priority_weight=9),
        task("large", pool="small", pool_slots=2, priority_weight=5),
        task("tiny", pool="small"),
    )
    await town.store(plan)
    await town.launch(plan)
    assert await queued(town) == ["first"]
    await town.play()
    assert town.ran == ["first", "large", "tiny"]


async def test_a_task_that_its_pool_can_never_hold_stands_in_nobodys_way(town: Town) -> None:
    await town.connection.execute("insert into pool (name, slots) values ('small', 1)")
    plan = dag("p", task("huge", pool="small", pool_slots=5, priority_weight=9), task("tiny", pool="small"))
    await town.store(plan)
    await town.launch(plan)
    assert await queued(town) == ["tiny"]


async def test_of_one_run_only_so_many_tasks_are_active(town: Town) -> None:
    plan = dag("d", *(task(f"t{n}") for n in range(5)), max_active_tasks=2)
    await town.store(plan)
    await town.launch(plan, "one", "two")
    assert await queued(town) == ["one.t0", "one.t1", "two.t0", "two.t1"]


async def test_of_one_task_only_so_many_instances_are_active(town: Town) -> None:
    plan = dag("d", task("a", max_active_tis_per_dag=1), task("b", max_active_tis_per_dagrun=1))
    await town.store(plan)
    await town.launch(plan, "one", "two")
    assert sorted(await queued(town)) == ["one.a", "one.b", "two.b"]


async def test_of_one_dag_only_so_many_runs_are_active(town: Town) -> None:
    plan = dag("d", task("a"), max_active_runs=2)
    await town.store(plan)
    await town.launch(plan, "one", "two", "three")
    await town.rounds.go()
    assert await town.run_states() == {"one": "running", "two": "running", "three": "queued"}
    await town.play()
    assert set((await town.run_states()).values()) == {"success"}


async def test_the_more_urgent_goes_first(town: Town) -> None:
    settings = {"weight_rule": WeightRule.ABSOLUTE}
    plan = dag("d", *(task(f"t{n}", priority_weight=n, **settings) for n in range(4)))
    await town.store(plan)
    await town.launch(plan)
    await town.play(legs_at_once=1)
    assert town.ran == ["t3", "t2", "t1", "t0"]


async def test_a_thousand_tasks_that_met_their_limit_hide_nobody(town: Town) -> None:
    crowd = dag("crowd", *(task(f"t{n}", priority_weight=10) for n in range(1500)), max_active_tasks=1)
    alone = dag("alone", task("a"))
    for plan in (crowd, alone):
        await town.store(plan)
        await town.launch(plan)
    assert sorted(await queued(town)) == ["a", "t0"]


async def test_what_was_begun_goes_before_what_is_fresh_and_more_urgent(town: Town) -> None:
    plan = dag("d", task("begun"), task("fresh", priority_weight=100), max_active_tasks=1)
    await town.store(plan)
    await town.launch(plan)
    await town.connection.execute(
        "update task_instance set state = 'scheduled', next_method = 'resume', next_kwargs = '{}', start_date = now()"
        " where task_id = 'begun'"
    )
    assert await queued(town) == ["begun"]


async def test_a_paused_dag_begins_nothing_and_goes_on_when_it_is_unpaused(town: Town) -> None:
    plan = dag("d", task("a"), task("b", "a"))
    await town.store(plan, is_paused=True)
    await town.launch(plan)
    await town.play()
    assert (town.ran, await town.run_states()) == ([], {"run": "queued"})
    await town.connection.execute("update dag set is_paused = false")
    await town.rounds.go()
    await town.connection.execute("update dag set is_paused = true")
    await town.play()
    assert town.ran == ["a"]  # what was queued already runs; nothing new is queued
    await town.connection.execute("update dag set is_paused = false")
    await town.play()
    assert await town.run_states() == {"run": "success"}


@pytest.mark.parametrize("change", ["slots = 0", "slots = 1"])
async def test_a_pool_that_was_made_smaller_stops_handing_out(town: Town, change: str) -> None:
    plan = dag("d", *(task(f"t{n}") for n in range(4)), max_active_tasks=2)
    await town.store(plan)
    await town.launch(plan)
    await town.rounds.go()
    await town.connection.execute(f"update pool set {change}")
    await town.pass_time(timedelta(seconds=1))
    assert await queued(town) == ["t0", "t1"]
