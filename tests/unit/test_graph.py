"""What follows from the order of tasks, beside plain computations, and fast enough for ten thousand of them."""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import PlanError
from bide.model.graph import WEIGHT_LIMIT, downstream, leaves, priority_weights, topological
from bide.model.plan import DagPlan, TaskPlan, WeightRule

MANY = 10_000


def dag(after: dict[str, str], **settings: Any) -> DagPlan:
    """A DAG from the upstreams of each task, such as {"a": "", "b": "a", "c": "a b"}."""
    tasks = (TaskPlan(task_id=name, operator="Op", upstream=tuple(names.split())) for name, names in after.items())
    return DagPlan(dag_id="d", tasks=tuple(tasks), **settings)


@st.composite
def dags(draw: st.DrawFn) -> DagPlan:
    number = draw(st.integers(0, 12))
    names = [f"t{place}" for place in range(number)]
    tasks = [
        TaskPlan(
            task_id=name,
            operator="Op",
            upstream=tuple(draw(st.lists(st.sampled_from(names[:place]), unique=True))) if place else (),
            priority_weight=draw(st.integers(-5, 5) | st.integers(-WEIGHT_LIMIT, WEIGHT_LIMIT)),
            weight_rule=draw(st.sampled_from(WeightRule)),
            is_teardown=draw(st.booleans()),
            on_failure_fail_dagrun=draw(st.booleans()),
        )
        for place, name in enumerate(names)
    ]
    return DagPlan(dag_id="d", tasks=tuple(draw(st.permutations(tasks))))


def relatives(nearest: dict[str, set[str]], task_id: str) -> set[str]:
    """Find a task and all its relatives in one direction, the simple way."""
    found, new = set[str](), {task_id}
    while new:
        found |= new
        new = {name for one in new for name in nearest[one]} - found
    return found


@given(dags())
def test_weights_are_those_of_a_plain_computation(plan: DagPlan) -> None:
    own = {task.task_id: task.priority_weight for task in plan.tasks}
    before = {task.task_id: set(task.upstream) for task in plan.tasks}
    after = {name: {other for other in before if name in before[other]} for name in before}
    for task in plan.tasks:
        counted = {
            WeightRule.ABSOLUTE: {task.task_id},
            WeightRule.UPSTREAM: relatives(before, task.task_id),
            WeightRule.DOWNSTREAM: relatives(after, task.task_id),
        }[task.weight_rule]
        weight = sum(own[name] for name in counted)
        assert priority_weights(plan)[task.task_id] == max(-WEIGHT_LIMIT, min(weight, WEIGHT_LIMIT))


def test_a_task_below_two_paths_counts_once() -> None:
    assert priority_weights(dag({"a": "", "b": "a", "c": "a", "d": "b c"})) == {"a": 4, "b": 2, "c": 2, "d": 1}


@given(dags())
def test_in_the_order_every_task_comes_after_its_upstreams(plan: DagPlan) -> None:
    order = topological(plan)
    assert sorted(order) == sorted(task.task_id for task in plan.tasks)
    for task in plan.tasks:
        assert all(order.index(upstream_id) < order.index(task.task_id) for upstream_id in task.upstream)


def test_the_order_is_otherwise_that_of_the_file() -> None:
    assert topological(dag({"z": "y", "y": "", "a": "", "b": "z"})) == ["y", "z", "a", "b"]
    assert topological(dag({"c": "", "b": "", "a": ""})) == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("after", "circle"),
    [
        ({"a": "b", "b": "a"}, "a >> b >> a"),
        ({"a": "c", "b": "a", "c": "b"}, "a >> b >> c >> a"),
        ({"start": "", "b": "start c", "c": "b", "end": "c"}, "b >> c >> b"),
        ({"below": "y", "x": "y", "y": "x"}, "x >> y >> x"),
        ({"a": "a"}, "a >> a"),
        (
            {f"t{number:02}": f"t{(number - 1) % 30:02}" for number in range(30)},
            "t00 >> t01 >> t02 >> t03 >> t04 >> t05 >> t06 >> t07 >> t08 >> … >> t00",
        ),
    ],
)
def test_a_circle_is_named_in_the_order_of_its_dependencies(after: dict[str, str], circle: str) -> None:
    with pytest.raises(PlanError) as refusal:
        topological(dag(after))
    assert f"in a circle: {circle}. " in str(refusal.value)


@pytest.mark.parametrize("length", [10, 11])
def test_a_circle_of_ten_is_shown_whole(length: int) -> None:
    with pytest.raises(PlanError) as refusal:
        topological(dag({f"t{number}": f"t{(number - 1) % length}" for number in range(length)}))
    assert ("…" in str(refusal.value)) is (length > 10)


@given(dags(), st.data())
def test_no_circle_is_missed_and_the_one_named_is_there(plan: DagPlan, data: st.DataObject) -> None:
    names = [task.task_id for task in plan.tasks]
    if not names:
        return
    edges = {task.task_id: set(task.upstream) for task in plan.tasks}
    low, high = data.draw(st.tuples(st.sampled_from(names), st.sampled_from(names)))
    edges[low] |= {high}
    bent = dag({name: " ".join(sorted(upstream)) for name, upstream in edges.items()})
    if low not in relatives(edges | {low: edges[low] - {high}}, high):
        assert len(topological(bent)) == len(names)
        return
    with pytest.raises(PlanError) as refusal:
        topological(bent)
    circle = str(refusal.value).split("circle: ")[1].split(". ")[0].split(" >> ")
    if "…" not in circle:
        assert circle[0] == circle[-1]
        assert all(above in edges[below] for above, below in pairwise(circle))


@given(dags())
def test_downstream_is_upstream_turned_round(plan: DagPlan) -> None:
    turned = {(task.task_id, upstream_id) for task in plan.tasks for upstream_id in task.upstream}
    assert {(below, above) for above, names in downstream(plan).items() for below in names} == turned
    assert downstream(plan).keys() == {task.task_id for task in plan.tasks}


@given(dags())
def test_a_leaf_has_nothing_below_it_that_is_no_teardown(plan: DagPlan) -> None:
    teardowns = {task.task_id for task in plan.tasks if task.is_teardown}
    for task in plan.tasks:
        is_last = set(downstream(plan)[task.task_id]) <= teardowns
        counts = task.on_failure_fail_dagrun if task.is_teardown else is_last
        assert (task.task_id in leaves(plan)) is counts


def test_every_task_decides_the_end_of_a_run_that_fails_fast() -> None:
    assert leaves(dag({"a": "", "b": "a"})) == {"b"}
    assert leaves(dag({"a": "", "b": "a"}, fail_fast=True)) == {"a", "b"}


def chain() -> dict[str, str]:
    return {f"t{number}": f"t{number - 1}" if number else "" for number in range(MANY)}


def star() -> dict[str, str]:
    return (
        {"first": ""}
        | {f"t{number}": "first" for number in range(MANY - 2)}
        | {"last": " ".join(f"t{number}" for number in range(MANY - 2))}
    )


def layers() -> dict[str, str]:
    width = 20
    return {
        f"t{number}": " ".join(f"t{number - number % width - width + place}" for place in range(width))
        if number >= width
        else ""
        for number in range(MANY)
    }


@pytest.mark.parametrize("shape", [chain, star, layers])
def test_ten_thousand_tasks_take_well_under_a_second(shape: Callable[[], dict[str, str]]) -> None:
    plan = dag(shape())
    started = time.process_time()
    weights = priority_weights(plan)
    ends = leaves(plan)
    assert time.process_time() - started < 1
    assert max(weights.values()) == (MANY if shape is not layers else MANY - 19)
    assert len(ends) == (20 if shape is layers else 1)


def test_a_circle_among_ten_thousand_tasks_is_found_as_fast() -> None:
    after = chain() | {"t0": f"t{MANY - 1}"}
    started = time.process_time()
    with pytest.raises(PlanError, match="t0 >> t1 >> "):
        topological(dag(after))
    assert time.process_time() - started < 1
