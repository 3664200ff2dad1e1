"""One task for each element of something: of lists, dicts and results, alone, crossed, zipped and joined."""

from typing import Any

import pytest

from bide.model.outcome import Skipped
from bide.model.plan import MapInput, MapPlan, MapSource
from bide.model.states import TaskState
from tests.authoring.world import Walk, dag_in, failure, leg_of, plan_of

WORDS = """
    from bide import DAG, task
    from bide.exceptions import AirflowSkipException
    from bide.operators.bash import BashOperator

    with DAG("d"):
        @task
        def numbers(): return [1, 2, 3]
        @task
        def words(): return ["a", "b"]
        @task
        def table(): return {{"x": 1, "y": 2}}
        @task
        def rows(): return [{{"x": 1}}, {{"x": 2, "y": 20}}]
        @task
        def f(x, y=0): return [x, y]
        {}
"""


def walked(body: str) -> Walk:
    return Walk(dag_in(WORDS.format("\n        ".join(body.splitlines()))))


def values(walk: Walk, task_id: str = "f") -> list[Any]:
    return [
        walk.value(task_id, index) if state is TaskState.SUCCESS else str(state)
        for index, state in enumerate(walk.states[task_id])
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("f.expand(x=[1, 2])", [[1, 0], [2, 0]]),
        ("f.expand(x=())", ["skipped"]),
        ("f.partial(y=5).expand(x=[1, 2])", [[1, 5], [2, 5]]),
        ("f.expand(x={'a': 1, 'b': 2})", [[("a", 1), 0], [("b", 2), 0]]),
        ("f.expand(x=numbers())", [[1, 0], [2, 0], [3, 0]]),
        ("f.expand(x=table())", [[("x", 1), 0], [("y", 2), 0]]),
        ("f.expand(x=words(), y=[1, 2])", [["a", 1], ["a", 2], ["b", 1], ["b", 2]]),
        ("f.partial(y=words()).expand(x=[1])", [[1, ["a", "b"]]]),
        ("f.expand(x=[numbers(), 7])", [[[1, 2, 3], 0], [7, 0]]),
        ("f.expand_kwargs([{'x': 1}, {'x': 2, 'y': 3}])", [[1, 0], [2, 3]]),
        ("f.expand_kwargs(rows())", [[1, 0], [2, 20]]),
        ("f.partial(y=9).expand_kwargs(words().map(lambda word: {'x': word}))", [["a", 9], ["b", 9]]),
        ("f.expand_kwargs([{'x': words()}])", [[["a", "b"], 0]]),
        ("f.expand(x=numbers().map(lambda n: n * n))", [[1, 0], [4, 0], [9, 0]]),
        ("f.expand(x=numbers().map(lambda n: n + 1).map(str))", [["2", 0], ["3", 0], ["4", 0]]),
        ("f.expand(x=numbers().zip(words()))", [[(1, "a"), 0], [(2, "b"), 0]]),
        ("f.expand(x=numbers().zip(words(), fillvalue='-'))", [[(1, "a"), 0], [(2, "b"), 0], [(3, "-"), 0]]),
        ("f.expand(x=words().concat(numbers().map(str)))", [["a", 0], ["b", 0], ["1", 0], ["2", 0], ["3", 0]]),
        ("f.expand(x=words().zip(words().zip(words())))", [[("a", ("a", "a")), 0], [("b", ("b", "b")), 0]]),
        ("f.expand(x=words().concat(table().map(lambda pair: pair[0])))", [["a", 0], ["b", 0], ["x", 0], ["y", 0]]),
    ],
)
def test_each_element_is_one_task(body: str, expected: list[Any]) -> None:
    assert values(walked(body)) == expected


def test_what_all_instances_return_is_a_list_for_the_tasks_after_them() -> None:
    walk = walked("@task\ndef total(given): return sum(x for x, _ in given)\ntotal(f.expand(x=numbers()))")
    assert walk.value("total") == 6


def test_mapped_tasks_can_be_mapped_over() -> None:
    assert values(walked("f.override(task_id='g').expand(x=f.expand(x=words()))"), "g") == [
        [["a", 0], 0],
        [["b", 0], 0],
    ]


def test_a_skip_in_a_function_that_changes_elements_skips_that_element_only() -> None:
    walk = walked(
        "def odd(n):\n    if n == 2: raise AirflowSkipException('even')\n    return n\nf.expand(x=numbers().map(odd))"
    )
    assert values(walk) == [[1, 0], "skipped", [3, 0]]


def test_operators_of_every_kind_can_be_mapped() -> None:
    walk = walked("BashOperator.partial(task_id='b').expand(bash_command=['echo 1', 'echo {{ ds }}'])")
    assert values(walk, "b") == ["1", "2026-03-01"]


def test_operators_take_sets_of_arguments_too() -> None:
    walk = walked(
        "sets = [{'bash_command': 'echo $A', 'env': {'A': 'x'}}, {'bash_command': 'echo 2'}]\n"
        "BashOperator.partial(task_id='b').expand_kwargs(sets)"
    )
    assert values(walk, "b") == ["x", "2"]


def test_what_comes_from_other_tasks_is_never_taken_for_a_template() -> None:
    walk = walked("@task\ndef bad(): return ['{{ 1 + 1 }}', '{{ ds }}']\nf.partial(y='{{ 1 + 1 }}').expand(x=bad())")
    assert values(walk) == [["{{ 1 + 1 }}", "2"], ["{{ ds }}", "2"]]


def test_the_plan_tells_how_many_instances_there_are() -> None:
    def mapped(body: str) -> MapPlan | None:
        plan = plan_of(WORDS.format(body))
        return next(task.mapped for task in plan.tasks if task.task_id == "f")

    one, two = MapSource(task_id="numbers"), MapSource(task_id="words")
    assert mapped("f.expand(x=[1, 2], y={'a': 1})") == MapPlan(
        inputs=(
            MapInput(name="x", sources=(MapSource(length=2),)),
            MapInput(name="y", sources=(MapSource(length=1),)),
        )
    )
    assert mapped("f.expand(x=numbers()['k'])") == MapPlan(
        inputs=(MapInput(name="x", sources=(MapSource(task_id="numbers", key="k"),)),)
    )
    assert mapped("f.expand(x=numbers().zip(words(), fillvalue=0).map(str))") == MapPlan(
        inputs=(MapInput(name="x", sources=(one, two), combine="zip_longest"),)
    )
    assert mapped("f.expand(x=numbers().concat(words().concat(words())))") == MapPlan(
        inputs=(MapInput(name="x", sources=(one, two, MapSource(task_id="words__1")), combine="concat"),)
    )
    assert mapped("f.expand_kwargs(numbers())") == MapPlan(
        inputs=(MapInput(name="keywords", sources=(one,)),), kind="expand_kwargs"
    )


def test_arguments_of_a_mapped_task_are_those_of_all_its_instances() -> None:
    plan = plan_of(
        WORDS.format(
            "f.override(task_id='g', retries=4, pool='p', trigger_rule='all_done', "
            "map_index_template='{{ x }}').expand(x=[1])"
        )
    )
    task = next(task for task in plan.tasks if task.task_id == "g")
    assert (task.retry.retries, task.pool, task.trigger_rule, task.operator) == (4, "p", "all_done", "@task")


def test_an_element_that_is_gone_fails_its_task() -> None:
    dag = dag_in(WORDS.format("f.expand(x=[1])"))
    assert failure(leg_of(dag, "f", map_index=3)) == (
        "There is no element 3 any more: what the task goes over has 1 now."
    )


def test_a_result_that_nobody_can_go_over_fails_the_task_that_returns_it() -> None:
    walk = walked("@task\ndef bad(): return 7\nf.expand(x=bad())")
    assert walk.failures == {
        "bad": "Task 'f' is mapped over what this one returns, so that must be a list or a dict, not an int."
    }


def test_a_result_of_an_earlier_run_of_the_file_that_nobody_can_go_over_fails_the_mapped_task() -> None:
    dag = dag_in(WORDS.format("f.expand_kwargs([numbers()])"))
    walk = Walk(dag)
    assert walk.failures["f"] == "expand_kwargs() goes over dicts with texts as keys, but element 0 is none."


def test_a_skip_while_an_instance_is_made_is_a_skip() -> None:
    walk = walked("def never(n): raise AirflowSkipException('no')\nf.expand(x=numbers().map(never))")
    assert isinstance(leg_of(walk.dag, "f", walk.engine, 0), Skipped)
