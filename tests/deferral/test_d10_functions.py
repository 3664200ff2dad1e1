"""D10: functions defer too, and go on in themselves or in another function."""

from datetime import timedelta
from typing import Any

import pytest

from bide import DAG, BaseTrigger, TaskDeferred, defer, task
from bide.operators.python import BranchPythonOperator, PythonOperator, ShortCircuitOperator
from bide.testing import Engine
from bide.testing.results import result_of
from tests.deferral.triggers import After


def finish(event: Any, seen: int = 0, ti: Any = None) -> Any:
    return [event, seen, ti.task_id]


def again(x: int, event: Any = None, legs: int = 1) -> Any:
    if legs < 3:
        defer(After(3600, f"event {legs}"), kwargs={"legs": legs + 1})
    return [x, event, legs]


def elsewhere(method: Any = "finish") -> None:
    deep(After(60, "there"), method)


def deep(trigger: BaseTrigger, method: Any) -> None:
    try:
        defer(trigger, method, kwargs={"seen": 7}, timeout=timedelta(hours=1))
    except Exception:
        raise AssertionError("nobody swallows a deferral") from None


def choose(event: Any = None) -> str:
    if event is None:
        raise TaskDeferred(trigger=After(1, "chosen"))
    return str(event)


def decide(event: Any = None) -> bool:
    return bool(event) if event is not None else defer(After(1, 0))


def values(engine: Engine, made: DAG) -> dict[str, Any]:
    number = engine.launch(made)
    engine.go()
    return {one.task_id: one.value if one.value is not None else one.state for one in result_of(engine, number).tasks}


def test_functions_go_on_in_themselves_or_in_another_one(engine: Engine) -> None:
    with DAG("functions", schedule=None) as made:
        task(again)(5)
        PythonOperator(task_id="operator", python_callable=again, op_kwargs={"x": 6})
        task(elsewhere)()
        task(elsewhere).override(task_id="by_function")(finish)

        def inner(event: Any) -> str:
            return f"inner {event}"

        @task
        def outer() -> None:
            defer(After(1, "closed"), inner)

        outer()
    assert values(engine, made) == {
        "again": [5, "event 2", 3],
        "operator": [6, "event 2", 3],
        "elsewhere": ["there", 7, "elsewhere"],
        "by_function": ["there", 7, "by_function"],
        "outer": "inner closed",
    }


def test_functions_that_choose_and_decide_wait_before_they_do(engine: Engine) -> None:
    with DAG("choosing", schedule=None) as made:
        branch = BranchPythonOperator(task_id="branch", python_callable=choose)
        stop = ShortCircuitOperator(task_id="stop", python_callable=decide)
        branch >> [PythonOperator(task_id=name, python_callable=lambda: 1) for name in ("chosen", "other")]
        stop >> PythonOperator(task_id="after", python_callable=lambda: 1)
    assert values(engine, made) == {
        "branch": "chosen",
        "stop": False,
        "chosen": 1,
        "other": "skipped",
        "after": "skipped",
    }


def would_loop() -> None:
    defer(After(1))


def unknown() -> None:
    defer(After(1), "no_such_function")


def unseen() -> None:
    def finish(event: Any) -> None: ...

    defer(After(1), finish)


def nameless() -> None:
    defer(After(1), lambda event: event)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (would_loop, "would_loop() is called again after the wait and would not notice"),
        (unknown, "unknown() cannot go on in 'no_such_function'"),
        (unseen, "unseen() cannot see finish() under its name"),
        (nameless, "a lambda has none"),
    ],
)
def test_a_wait_with_no_way_back_is_refused(engine: Engine, function: Any, sentence: str) -> None:
    with DAG("lost", schedule=None) as made:
        PythonOperator(task_id="t", python_callable=function)
    number = engine.launch(made)
    engine.go()
    result = result_of(engine, number)["t"]
    assert result.state == "failed"
    assert sentence in result.log
