"""Functions that are tasks: what they are given, what they return, and how they stand in order."""

import pytest

from bide.authoring.collect import FileBroken
from bide.model.plan import TaskPlan
from bide.model.trigger_rules import TriggerRule
from tests.authoring.engine import Engine
from tests.authoring.world import Walk, dag_in, leg_of, plan_of, returned

CHAIN = """
    from bide import dag, task

    @dag
    def numbers():
        @task
        def one():
            return 1

        @task(retries=2, task_id="plus", trigger_rule="all_done")
        def add(x: int, y: int = 10) -> int:
            return x + y

        @task
        def show(total, *, ds, ti, **context):
            return [total, ds, ti.task_id, context["run_id"]]

        show(add(one()))

    numbers()
"""


def tasks(source: str) -> dict[str, TaskPlan]:
    return {task.task_id: task for task in plan_of(source).tasks}


def test_what_one_task_returns_is_what_the_next_one_is_called_with() -> None:
    walk = Walk(dag_in(CHAIN))
    assert walk.value("plus") == 11
    assert walk.value("show") == [11, "2026-03-01", "show", "scheduled__2026-03-01"]


def test_passing_a_result_on_puts_two_tasks_in_order() -> None:
    planned = tasks(CHAIN)
    assert planned["plus"].upstream == ("one",)
    assert planned["show"].upstream == ("plus",)
    assert planned["plus"].retry.retries == 2
    assert planned["plus"].trigger_rule is TriggerRule.ALL_DONE
    assert planned["one"].operator == "@task"


def test_each_call_of_a_function_is_a_task_with_a_number_of_its_own() -> None:
    source = """
        from bide import DAG, task, task_group
        with DAG("d"):
            @task
            def f(): ...
            f(), f()
            f.override(task_id="g")()
            @task_group
            def inner():
                f(), f()
            inner(), inner()
    """
    assert list(tasks(source)) == ["f", "f__1", "g", "inner.f", "inner.f__1", "inner__1.f", "inner__1.f__1"]


def test_override_changes_arguments_for_one_call_only() -> None:
    planned = tasks("""
        from bide import DAG, task
        with DAG("d"):
            @task(retries=1)
            def f(): ...
            f.override(retries=5, task_id="often")()
            f()
    """)
    assert (planned["often"].retry.retries, planned["f"].retry.retries) == (5, 1)


DICT = """
    from typing import TypedDict
    from bide import DAG, task

    class Row(TypedDict):
        name: str
        age: int

    with DAG("d"):
        @task(multiple_outputs=True)
        def asked():
            return {"name": "Ada", "age": 36}

        @task
        def annotated() -> dict[str, int]:
            return {"age": 7}

        @task
        def typed() -> Row:
            return {"name": "Bea", "age": 1}

        @task(multiple_outputs=False)
        def whole() -> dict[str, int]:
            return {"age": 7}

        @task
        def read(name, age):
            return f"{name} {age}"

        found = asked()
        read(found["name"], annotated()["age"])
        typed(), whole()
"""


def test_a_dict_is_taken_apart_into_xcoms_where_the_author_says_so() -> None:
    walk = Walk(dag_in(DICT))
    assert walk.value("read") == "Ada 7"
    assert walk.value("typed", key="name") == "Bea"
    assert not any(at[2] == "whole" and at[4] == "age" for at in walk.engine.xcoms)


def test_names_of_the_context_are_filled_in_and_may_be_given_otherwise() -> None:
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task
            def f(ds, logical_date=None, params=None, x=1):
                return [ds, logical_date.year, x]
            f(), f(ds="mine", x=2)
    """)
    assert returned(leg_of(dag, "f")) == ["2026-03-01", 2026, 1]
    assert returned(leg_of(dag, "f__1")) == ["mine", 2026, 2]


def test_results_in_lists_and_dicts_of_arguments_are_found() -> None:
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task
            def one(): return 1
            @task
            def two(): return 2
            @task
            def f(x): return x
            f({"a": [one(), {"b": (two(), "{{ ds }}")}]})
    """)
    assert Walk(dag).value("f") == {"a": [1, {"b": (2, "2026-03-01")}]}
    assert dag.get_task("f").upstream_task_ids == {"one", "two"}


def test_the_result_of_a_task_without_one_is_none() -> None:
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task
            def nothing(): ...
            @task
            def f(x): return [x]
            f(nothing())
    """)
    assert Walk(dag).value("f") == [None]


def test_a_dag_function_hands_its_arguments_on_as_params_of_the_run() -> None:
    dag = dag_in("""
        from bide import dag, task

        @dag("greeting", schedule=None)
        def greet(name="World", often: int = 1):
            '''Says hello.'''
            @task
            def hello(name, often):
                return name * often
            hello(name, often)

        greet(often=2)
    """)
    assert dag.doc_md == "Says hello."
    assert returned(leg_of(dag, "hello")) == "WorldWorld"
    assert returned(leg_of(dag, "hello", conf={"name": "Ada"})) == "AdaAda"


@pytest.mark.parametrize("kind", ["virtualenv", "docker", "branche"])
def test_kinds_of_tasks_that_do_not_exist_are_refused_with_a_sentence(kind: str) -> None:
    with pytest.raises(FileBroken, match=f"/dags/example.py:3: .*@task.{kind}"):
        dag_in(f"from bide import task\n\n@task.{kind}\ndef f(): ...\n")


def test_the_command_of_a_bash_task_is_what_its_function_returns() -> None:
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task.bash(env={"WHO": "me"}, append_env=True)
            def say(word):
                return f"echo {word} $WHO {{{{ ds }}}}"
            say("hello")
    """)
    assert returned(leg_of(dag, "say")) == "hello me 2026-03-01"


def test_one_function_can_be_called_in_two_dags() -> None:
    dag = dag_in("""
        from bide import DAG, task
        @task
        def f(x): return x * 2
        with DAG("d"):
            f(f(1))
    """)
    assert Walk(dag, Engine()).value("f__1") == 4
