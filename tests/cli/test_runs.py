"""`bide runs`: lists, one run, and the end of a run by a person's word."""

from datetime import timedelta

import pytest

from bide.model.outcome import Failed
from bide.model.plan import DagPlan
from tests.cli.person import Person
from tests.scheduler.town import Town, dag, task, words

NO = {"clean": Failed("no")}


async def test_runs_are_listed_the_newest_first(person: Person, town: Town, sales: DagPlan) -> None:
    await town.play(NO)
    await town.launch(sales, "second", logical_date=None)
    assert await person.done("runs", "list") == [
        "dag run state tasks failed began took by",
        "sales second queued 0/4 manual",
        "sales run failed 4/4 2 2030-01-01 12:00:00Z 0ms manual",
    ]
    told = (await person.says("runs", "list", "sales", "--state", "failed", "-o", "json")).json()
    assert [(one["run_id"], one["failed"], one["duration"]) for one in told] == [("run", 2, 0.0)]
    said = await person.says("runs", "list", "-n", "1")
    assert len(said.lines) == 2
    assert "--limit shows more" in said.err


async def test_of_a_dag_that_is_not_there_no_runs_are_listed(person: Person, sales: DagPlan) -> None:
    assert "did you mean 'sales'?" in await person.refused("runs", "list", "sals")
    assert (await person.says("runs", "list", "--state", "failed")).err == "There are no such runs.\n"
    assert "Invalid value for '--state'" in await person.refused("runs", "list", "--state", "lost", code=2)


async def test_all_about_a_run(person: Person, town: Town, sales: DagPlan) -> None:
    await town.play(NO)
    await town.connection.execute("update dag_run set conf = '{\"day\": 3}', note = 'late again'")
    lines = await person.done("runs", "show", "sales", "run")
    assert lines[:2] == ["run sales run", "state failed"]
    assert 'conf {"day": 3}' in lines
    assert "note late again" in lines
    assert "tasks 4/4 ended, 2 failed" in lines
    assert [line.split()[:2] for line in lines[lines.index("Tasks") + 2 :]] == [
        ["extract", "success"],
        ["clean", "failed"],
        ["check", "success"],
        ["load", "upstream_failed"],
    ]
    told = (await person.says("runs", "show", "sales", "run", "-o", "json")).json()
    assert (told["conf"], told["version"]) == ({"day": 3}, 1)
    assert {one["task_id"]: one["state"] for one in told["tasks_by_state"]}["load"] == "upstream_failed"


async def test_latest_means_the_newest_run(person: Person, town: Town, sales: DagPlan) -> None:
    await town.launch(sales, "second")
    assert (await person.done("runs", "show", "sales", "latest"))[0] == "run sales second"
    await town.launch(sales, "latest")
    await town.launch(sales, "third")
    assert (await person.done("runs", "show", "sales", "latest"))[0] == "run sales latest"


async def test_unknown_runs_are_refused_with_the_near_one(person: Person, town: Town, sales: DagPlan) -> None:
    assert await person.refused("runs", "show", "sales", "rum") == (
        "Error: There is no run 'rum' of sales; did you mean 'run'?"
    )
    assert "There is no DAG 'stock'" in await person.refused("runs", "show", "stock", "latest")
    await town.store(dag("stock"))
    assert "has had no run yet" in await person.refused("runs", "show", "stock", "latest")


async def test_a_run_that_failed_is_cleared_and_runs_again(person: Person, town: Town, sales: DagPlan) -> None:
    await town.play(NO)
    assert await person.done("runs", "clear", "sales", "run", "--only-failed", "--yes") == ["2 tasks cleared."]
    town.ran.clear()
    await town.play()
    assert town.ran == ["clean", "load"]
    assert await town.run_states() == {"run": "success"}
    assert await person.done("runs", "clear", "sales", "run", "-y") == ["4 tasks cleared."]


async def test_a_failed_run_may_count_as_a_success(person: Person, town: Town, sales: DagPlan) -> None:
    await town.play(NO)
    assert await person.done("runs", "mark", "sales", "run", "success", "--yes") == ["sales run: success"]
    assert await town.run_states() == {"run": "success"}
    # What failed before the end stays failed: it has not decided.
    assert words(await town.states(), ["clean", "load"]) == "clean failed, load success"
    assert await person.done("runs", "mark", "sales", "run", "success") == ["sales run: was success already"]


async def test_a_run_that_goes_on_is_ended_as_a_success(person: Person, town: Town, sales: DagPlan) -> None:
    assert await person.done("runs", "mark", "sales", "run", "success", "--yes") == ["sales run: success"]
    await town.play()
    assert town.ran == []
    assert set((await town.states()).values()) == {"success"}


async def test_a_run_that_goes_on_is_ended_as_failed(person: Person, town: Town, sales: DagPlan) -> None:
    await town.rounds.go()
    assert await person.done("runs", "mark", "sales", "run", "failed", "--yes") == ["sales run: failed"]
    assert words(await town.states()) == "extract failed, clean skipped, check skipped, load failed"
    await town.play()
    assert await town.run_states() == {"run": "failed"}


async def test_a_run_that_succeeded_does_not_fail_by_a_word(person: Person, town: Town, sales: DagPlan) -> None:
    await town.play()
    refusal = await person.refused("runs", "mark", "sales", "run", "failed", "--yes")
    assert "'run' has ended as success" in refusal
    assert "`bide tasks mark`" in refusal


async def test_a_run_that_timed_out_has_no_task_that_stands_for_it(person: Person, town: Town) -> None:
    plan = dag("slow", task("a"), dagrun_timeout=timedelta(hours=1))
    await town.store(plan)
    await town.launch(plan)
    await town.rounds.go()
    await town.pass_time(timedelta(hours=2))
    await town.rounds.go()
    assert await town.run_states() == {"run": "failed"}
    assert "no task of it stands for another end" in await person.refused(
        "runs", "mark", "slow", "run", "success", "-y"
    )


@pytest.mark.parametrize("command", [["clear", "sales", "run"], ["mark", "sales", "run", "failed"]])
async def test_nothing_happens_without_a_yes(person: Person, town: Town, sales: DagPlan, command: list[str]) -> None:
    await town.rounds.go()
    assert "use --yes" in await person.refused("runs", *command)
    said = await person.says("runs", *command, typed="n\n")
    assert (said.code, said.out.endswith("Go on? [y/N]: Nothing was changed.\n")) == (1, True)
    assert await town.run_states() == {"run": "running"}
    said = await person.says("runs", *command, typed="y\n")
    assert said.code == 0
