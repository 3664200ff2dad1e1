"""What follows from what has ended: order, rules, branches, failures and the end of the run."""

from bide.model.outcome import Failed, Skipped, Succeeded
from bide.model.plan import SKIPS_KEY, WeightRule
from bide.model.trigger_rules import TriggerRule as Rule
from tests.scheduler.town import Town, dag, task, words


async def test_tasks_run_one_after_the_other_and_the_run_succeeds(town: Town) -> None:
    plan = dag("chain", task("a"), task("b", "a"), task("c", "b"))
    await town.store(plan)
    await town.launch(plan)
    await town.play()
    assert town.ran == ["a", "b", "c"]
    assert await town.run_states() == {"run": "success"}


async def test_a_failure_spreads_and_fails_the_run(town: Town) -> None:
    plan = dag("fails", task("a"), task("b", "a"), task("c", "b"), task("d"))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"a": Failed("no")})
    assert words(await town.states()) == "a failed, b upstream_failed, c upstream_failed, d success"
    assert await town.run_states() == {"run": "failed"}


async def test_a_skip_spreads_and_the_run_succeeds(town: Town) -> None:
    plan = dag("skips", task("a"), task("b", "a"), task("c", "b"), task("d"))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"a": Skipped()})
    assert words(await town.states()) == "a skipped, b skipped, c skipped, d success"
    assert await town.run_states() == {"run": "success"}


async def test_a_branch_that_was_not_taken_is_skipped_and_the_join_runs(town: Town) -> None:
    join = task("join", "left", "right", trigger_rule=Rule.NONE_FAILED_MIN_ONE_SUCCESS)
    plan = dag("branch", task("choose", branches=True), task("left", "choose"), task("right", "choose"), join)
    await town.store(plan)
    await town.launch(plan)
    await town.play({"choose": Succeeded({SKIPS_KEY: '["right"]'})})
    assert words(await town.states()) == "choose success, left success, right skipped, join success"


async def test_a_branch_that_is_cleared_alone_is_skipped_again(town: Town) -> None:
    plan = dag("branch", task("choose", branches=True), task("left", "choose"), task("right", "choose"))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"choose": Succeeded({SKIPS_KEY: '["right"]'})})
    await town.clear("right")
    await town.play()
    assert words(await town.states(), ["left", "right"]) == "left success, right skipped"
    assert town.ran == ["choose", "left"]


async def test_a_short_circuit_skips_distant_tasks_whatever_their_rules(town: Town) -> None:
    end = task("end", "work", trigger_rule=Rule.ALL_DONE)
    plan = dag("short", task("check", branches=True), task("work", "check"), end, task("other"))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"check": Succeeded({SKIPS_KEY: '["work", "end"]'})})
    assert words(await town.states()) == "check success, work skipped, end skipped, other success"


async def test_an_empty_task_passes_without_a_worker(town: Town) -> None:
    plan = dag("empty", task("a", is_empty=True), task("b", "a"), task("c", "b", is_empty=True))
    await town.store(plan)
    await town.launch(plan)
    await town.play()
    assert town.ran == ["b"]
    assert await town.run_states() == {"run": "success"}


async def test_a_run_without_tasks_succeeds(town: Town) -> None:
    plan = dag("nothing")
    await town.store(plan)
    await town.launch(plan)
    await town.play()
    assert await town.run_states() == {"run": "success"}


async def test_fail_fast_stops_the_rest_at_the_first_failure(town: Town) -> None:
    plan = dag("fast", task("a"), task("b", "a"), task("c"), task("d", "c"), task("e", "d"), fail_fast=True)
    await town.store(plan)
    await town.launch(plan)
    await town.play({"a": Failed("no")})
    states = await town.states()
    assert (states["a"], states["e"]) == ("failed", "skipped")
    assert await town.run_states() == {"run": "failed"}


async def test_nothing_is_left_to_be_looked_at(town: Town) -> None:
    plan = dag("chain", task("a"), task("b", "a"))
    await town.store(plan)
    await town.launch(plan)
    await town.play()
    assert await town.connection.fetchval("select count(*) from look") == 0


async def test_a_task_after_very_many_begins_when_the_last_of_them_has_ended(town: Town) -> None:
    aside = [task(f"aside_{number}") for number in range(60)]
    many = [task(f"one_{number}") for number in range(120)]
    last = task("last", *(one.task_id for one in many))
    await town.store(dag("crowded", *aside, *many, last, max_active_tasks=1000))
    await town.launch(dag("crowded", *aside, *many, last))
    # Those at the side are unfinished too, and are found first when somebody looks what is unfinished.
    await town.play(legs_at_once=25)
    assert town.ran.index("last") > max(town.ran.index(one.task_id) for one in many)
    assert await town.run_states() == {"run": "success"}


async def test_a_task_after_very_many_may_begin_with_the_first_failure_among_them(town: Town) -> None:
    many = [task(f"one_{number}") for number in range(120)]
    alarm = task("alarm", *(one.task_id for one in many), trigger_rule=Rule.ONE_FAILED, weight_rule=WeightRule.UPSTREAM)
    plan = dag("watched", *many, alarm, max_active_tasks=1000)
    await town.store(plan)
    await town.launch(plan)
    await town.play({"one_3": Failed("no")}, legs_at_once=10)
    assert town.ran.index("alarm") < 60
