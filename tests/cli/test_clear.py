"""`bide tasks clear` and `mark`: in all directions, asked once, in batches."""

from datetime import timedelta

import pytest

from bide.control import rewriting
from bide.model.outcome import Failed
from bide.model.plan import DagPlan, MapInput, MapPlan, MapSource
from tests.cli.person import Person
from tests.scheduler.town import NOW, Town, dag, task, words

TEN = MapPlan(inputs=(MapInput(name="n", sources=(MapSource(length=10),)),))
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("arguments", "ran"),
    [
        ([], ["extract", "clean", "check", "load"]),
        (["clean"], ["clean"]),
        (["clean", "check"], ["clean", "check"]),
        (["clean", "--downstream"], ["clean", "load"]),
        (["clean", "--upstream"], ["extract", "clean"]),
        (["clean", "--upstream", "--downstream"], ["extract", "clean", "check", "load"]),
        (["clean", "--downstream", "--only-failed"], []),
    ],
)
async def test_what_was_cleared_runs_again(
    person: Person, town: Town, sales: DagPlan, arguments: list[str], ran: list[str]
) -> None:
    await town.play()
    town.ran.clear()
    number = {0: "There is nothing to clear.", 1: "1 task cleared."}.get(len(ran), f"{len(ran)} tasks cleared.")
    assert await person.done("tasks", "clear", "sales", "run", *arguments, "--yes") == [number]
    await town.play()
    assert sorted(town.ran) == sorted(ran)


async def test_only_what_has_failed_or_is_running_is_cleared(person: Person, town: Town, sales: DagPlan) -> None:
    await town.play({"clean": Failed("no")})
    clear = ("tasks", "clear", "sales", "run", "--yes")
    assert await person.done(*clear, "--only-running") == ["There is nothing to clear."]
    assert await person.done(*clear, "--only-failed", "--only-running") == ["2 tasks cleared."]
    assert words(await town.states()) == "extract success, clean restarting, check success, load restarting"


async def test_runs_before_and_after_are_reached_by_their_dates(person: Person, town: Town) -> None:
    plan = dag("sales", task("load"), max_active_runs=3)
    await town.store(plan)
    for number, name in enumerate(("first", "second", "third")):
        await town.launch(plan, name, logical_date=NOW + number * DAY)
    await town.play()

    async def cleared(*arguments: str) -> list[str]:
        await person.done("tasks", "clear", "sales", "second", "load", "--yes", *arguments)
        found = await town.connection.fetch("select run_id from task_instance where state = 'restarting' order by id")
        await town.play()
        return [row["run_id"] for row in found]

    assert await cleared() == ["second"]
    assert await cleared("--past") == ["first", "second"]
    assert await cleared("--future") == ["second", "third"]
    assert await cleared("--past", "--future") == ["first", "second", "third"]


async def test_single_instances_of_a_mapped_task_are_cleared(person: Person, town: Town) -> None:
    plan = dag("many", task("a", mapped=TEN), task("b", "a"))
    await town.store(plan)
    await town.launch(plan)
    await town.play()
    clear = ("tasks", "clear", "many", "run", "a", "--map-index", "3", "--map-index", "5", "--downstream", "-y")
    assert await person.done(*clear) == ["3 tasks cleared."]
    states = await town.states()
    assert [name for name, state in states.items() if state == "restarting"] == ["a[3]", "a[5]", "b"]


async def test_somebody_is_asked_once_and_told_how_much_it_is(person: Person, town: Town, sales: DagPlan) -> None:
    await town.play()
    said = await person.says("tasks", "clear", "sales", "run", "clean", "--downstream", typed="yes\n")
    assert said.out == "This will clear 2 tasks in 1 run. Go on? [y/N]: 2 tasks cleared.\n"
    said = await person.says("tasks", "mark", "sales", "run", "load", "failed", typed="\n")
    assert (said.code, said.out.count("[y/N]")) == (1, 1)
    assert await person.refused("tasks", "mark", "sales", "run", "load", "failed") == (
        "Error: This will mark as failed 1 task in 1 run. Nobody is here to be asked: use --yes."
    )


async def test_ctrl_c_at_the_question_changes_nothing(person: Person, town: Town, sales: DagPlan) -> None:
    await town.play()
    # An end of input is what a terminal gives when somebody hangs up.
    said = await person.says("tasks", "clear", "sales", "run", typed="")
    assert said.code == 130
    assert set((await town.states()).values()) == {"success"}


@pytest.mark.parametrize(
    ("arguments", "states"),
    [
        (["clean", "success"], "extract none, clean success, check none, load none"),
        (["clean", "skipped", "--downstream"], "extract none, clean skipped, check none, load skipped"),
        (["clean", "failed", "--upstream"], "extract failed, clean failed, check none, load none"),
    ],
)
async def test_tasks_are_marked(person: Person, town: Town, sales: DagPlan, arguments: list[str], states: str) -> None:
    number = "1 task" if len(arguments) == 2 else "2 tasks"
    assert await person.done("tasks", "mark", "sales", "run", *arguments, "-y") == [
        f"{number} marked as {arguments[1]}."
    ]
    assert words(await town.states()) == states
    assert await person.done("tasks", "mark", "sales", "run", *arguments, "-y") == [
        f"There is nothing to mark as {arguments[1]}."
    ]


async def test_the_history_says_who_it_was(person: Person, town: Town, sales: DagPlan) -> None:
    await person.done("tasks", "mark", "sales", "run", "load", "success", "-y")
    assert await town.connection.fetchval("select who from history where verb = 'mark'") == "ada (command line)"


async def test_unknown_tasks_states_and_runs_are_refused(person: Person, sales: DagPlan) -> None:
    assert "did you mean 'load'?" in await person.refused("tasks", "clear", "sales", "run", "loads", "-y")
    assert "did you mean 'run'?" in await person.refused("tasks", "clear", "sales", "runs", "-y")
    assert "Invalid value for" in await person.refused("tasks", "mark", "sales", "run", "load", "running", code=2)
    assert "Missing argument" in await person.refused("tasks", "mark", "sales", "run", "load", code=2)


async def test_many_tasks_are_cleared_in_batches(person: Person, town: Town) -> None:
    number = rewriting.BATCH + 100
    plan = dag("many", *(task(f"t{place}") for place in range(number)), max_active_tasks=number)
    await town.store(plan)
    await town.launch(plan)
    await town.connection.execute("update task_instance set state = 'success', end_date = bide_now()")
    assert await person.done("tasks", "clear", "many", "run", "-y") == [f"{number:,} tasks cleared."]
    assert await town.connection.fetchval("select count(*) from task_instance where state = 'restarting'") == number
