"""Mapped tasks: over lists that the file tells, over what tasks have left, over nothing, over a thousand elements."""

import json

import pytest

from bide.model.outcome import Failed, Skipped, Succeeded
from bide.model.plan import MapInput, MapPlan, MapSource
from bide.model.trigger_rules import TriggerRule as Rule
from tests.scheduler.town import Town, dag, task, words


def over(*sources: MapSource, combine: str = "zip") -> MapPlan:
    return MapPlan(inputs=(MapInput(name="x", sources=sources, combine=combine),))  # type: ignore[arg-type]


def left_by(task_id: str) -> MapSource:
    return MapSource(task_id=task_id)


def leaves(value: object) -> Succeeded:
    return Succeeded({"return_value": json.dumps(value)})


async def test_a_task_is_mapped_over_a_list_that_the_file_tells(town: Town) -> None:
    plan = dag("d", task("each", mapped=over(MapSource(length=3))), task("end", "each"))
    await town.store(plan)
    await town.launch(plan)
    await town.play()
    assert town.ran == ["each[0]", "each[1]", "each[2]", "end"]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ([1, 2], 2),
        ({"a": 1, "b": 2, "c": 3}, 3),
        ({"$": "tuple", "v": [1, 2]}, 2),
        ([[1, 2], [3]], 2),
        (list(range(1000)), 1000),
    ],
    ids=["list", "dict", "tuple", "nested", "thousand"],
)
async def test_a_task_is_mapped_over_what_another_has_left(town: Town, value: object, number: int) -> None:
    plan = dag("d", task("list"), task("each", "list", mapped=over(left_by("list"))), task("end", "each"))
    plan = dag("d", *plan.tasks, max_active_tasks=2000)
    await town.connection.execute("update pool set slots = 2000")
    await town.store(plan)
    await town.launch(plan)
    await town.play({"list": leaves(value)})
    assert town.ran == ["list", *(f"each[{n}]" for n in range(number)), "end"]
    assert await town.run_states() == {"run": "success"}


async def test_mapped_over_nothing_a_task_is_skipped(town: Town) -> None:
    end = task("end", "each", trigger_rule=Rule.NONE_FAILED)
    plan = dag("d", task("list"), task("each", "list", mapped=over(left_by("list"))), task("next", "each"), end)
    await town.store(plan)
    await town.launch(plan)
    await town.play({"list": leaves([])})
    assert words(await town.states()) == "list success, each skipped, next skipped, end success"


@pytest.mark.parametrize("left", [leaves(7), leaves("text"), Succeeded()], ids=["number", "text", "nothing"])
async def test_mapped_over_what_has_no_elements_a_task_cannot_run(town: Town, left: Succeeded) -> None:
    plan = dag("d", task("list"), task("each", "list", mapped=over(left_by("list"))))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"list": left})
    assert words(await town.states()) == "list success, each upstream_failed"
    assert await town.run_states() == {"run": "failed"}


async def test_a_task_mapped_over_a_mapped_one_has_as_many_instances_as_that_one_has_left_values(town: Town) -> None:
    one = task("one", mapped=over(MapSource(length=3)))
    plan = dag("d", one, task("two", "one", mapped=over(left_by("one"))))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"one": leaves("x")})
    assert town.ran == ["one[0]", "one[1]", "one[2]", "two[0]", "two[1]", "two[2]"]


@pytest.mark.parametrize(("combine", "number"), [("zip", 2), ("zip_longest", 3), ("concat", 5)])
async def test_lists_are_zipped_or_put_together(town: Town, combine: str, number: int) -> None:
    mapped = over(left_by("a"), left_by("b"), combine=combine)
    plan = dag("d", task("a"), task("b"), task("each", "a", "b", mapped=mapped))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"a": leaves([1, 2]), "b": leaves([1, 2, 3])})
    assert len(town.ran) == 2 + number


async def test_several_arguments_make_a_cross_product(town: Town) -> None:
    x, y = MapInput(name="x", sources=(left_by("a"),)), MapInput(name="y", sources=(MapSource(length=3),))
    plan = dag("d", task("a"), task("each", "a", mapped=MapPlan(inputs=(x, y))))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"a": leaves([1, 2])})
    assert len(town.ran) == 1 + 6


async def test_one_failed_instance_fails_what_comes_after_all(town: Town) -> None:
    plan = dag("d", task("each", mapped=over(MapSource(length=2))), task("end", "each"))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"each": lambda started: Failed("no") if started.map_index else Skipped()})
    assert words(await town.states()) == "each[0] skipped, each[1] failed, end upstream_failed"


async def test_cleared_and_mapped_over_fewer_elements_what_is_too_much_is_skipped(town: Town) -> None:
    plan = dag("d", task("list"), task("each", "list", mapped=over(left_by("list"))))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"list": leaves([1, 2, 3])})
    await town.clear("list", "each")
    await town.play({"list": leaves([1])})
    assert words(await town.states()) == "list success, each[0] success, each[1] skipped, each[2] skipped"


async def test_cleared_and_mapped_over_more_elements_the_new_ones_run_too(town: Town) -> None:
    plan = dag("d", task("list"), task("each", "list", mapped=over(left_by("list"))))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"list": leaves([1])})
    await town.clear("list", "each")
    await town.play({"list": leaves([1, 2, 3])})
    assert words(await town.states()) == "list success, each[0] success, each[1] success, each[2] success"
