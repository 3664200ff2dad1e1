"""Tasks that look back at the run before, and runs whose past a person rewrites."""

from datetime import timedelta

from bide.model.outcome import Failed
from tests.scheduler.town import NOW, Town, dag, task, words

DAY = timedelta(days=1)


async def two_days(town: Town, plan: object) -> None:
    await town.store(plan)  # type: ignore[arg-type]
    await town.launch(plan, "first", logical_date=NOW - DAY)  # type: ignore[arg-type]
    await town.launch(plan, "second", logical_date=NOW)  # type: ignore[arg-type]


async def test_a_task_waits_for_itself_in_the_run_before(town: Town) -> None:
    plan = dag("d", task("a", depends_on_past=True), task("b", "a"))
    await two_days(town, plan)
    await town.play({"a": Failed("no")})
    assert words(await town.states("first")) == "a failed, b upstream_failed"
    assert words(await town.states("second")) == "a none, b none"
    await town.clear("a", run_id="first")
    await town.play()
    assert await town.run_states() == {"first": "failed", "second": "success"}


async def test_a_task_waits_for_those_after_it_in_the_run_before(town: Town) -> None:
    plan = dag("d", task("a", wait_for_downstream=True), task("b", "a"))
    await two_days(town, plan)
    await town.play({"b": Failed("no")})
    assert words(await town.states("second")) == "a none, b none"
    await town.clear("b", run_id="first")
    await town.play()
    assert await town.run_states() == {"first": "success", "second": "success"}


async def test_a_cleared_task_runs_again_and_its_run_is_judged_anew(town: Town) -> None:
    plan = dag("d", task("a"), task("b", "a"))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"b": Failed("no")})
    assert await town.run_states() == {"run": "failed"}
    await town.clear("b")
    assert await town.run_states() == {"run": "queued"}
    await town.play()
    assert (town.ran, await town.run_states()) == (["a", "b", "b"], {"run": "success"})


async def test_cleared_with_all_that_follows_everything_runs_again_in_order(town: Town) -> None:
    plan = dag("d", task("a"), task("b", "a"), task("c", "b"))
    await town.store(plan)
    await town.launch(plan)
    await town.play()
    await town.clear("a", "b", "c")
    await town.play()
    assert town.ran == ["a", "b", "c"] * 2


async def test_a_running_run_adopts_a_new_version_with_a_new_task_and_without_an_old_one(town: Town) -> None:
    await town.store(dag("d", task("a"), task("old", "a"), task("end", "old")))
    plan = dag("d", task("a"), task("old", "a"), task("end", "old"))
    await town.launch(plan)
    await town.rounds.go()
    await town.store(dag("d", task("a"), task("new", "a"), task("end", "new")))
    await town.play()
    assert town.ran == ["a", "new", "end"]
    assert words(await town.states(), ["old"]) == "old removed"
    assert await town.run_states() == {"run": "success"}
