"""What authors know of retries, sensors and mapping, end to end: real code, real scheduling, a clock that jumps."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from bide import DAG, get_current_context, task
from bide.exceptions import AirflowFailException, AirflowSkipException
from bide.operators.empty import EmptyOperator
from bide.testing import Engine, RunResult
from bide.testing.results import result_of
from tests.testing.conftest import NOON

MINUTE = timedelta(minutes=1)


def finished(engine: Engine, dag: DAG) -> RunResult:
    """Run a DAG to its end."""
    number = engine.launch(dag)
    engine.go()
    return result_of(engine, number)


@pytest.mark.parametrize(
    ("more", "minutes"),
    [
        ({}, [5, 5, 5, 5]),
        ({"retry_exponential_backoff": True}, [5, 10, 20, 40]),
        ({"retry_exponential_backoff": True, "max_retry_delay": 15 * MINUTE}, [5, 10, 15, 15]),
        ({"retry_delay": 0}, [0, 0, 0, 0]),
    ],
)
def test_a_task_rests_between_its_tries_as_its_author_has_said(
    engine: Engine, more: dict[str, Any], minutes: list[int]
) -> None:
    began: list[datetime] = []
    with DAG("retried", schedule=None) as dag:

        @task(retries=4, **{"retry_delay": 5 * MINUTE, **more})
        def fails() -> None:
            began.append(engine.now)
            raise ValueError("no")

        fails()
    result = finished(engine, dag)
    assert (result.state, result["fails"].tries) == ("failed", 5)
    assert [(later - earlier) / MINUTE for earlier, later in pairwise(began)] == minutes


def test_a_task_says_itself_that_another_try_is_of_no_use(engine: Engine) -> None:
    with DAG("hopeless", schedule=None, default_args={"retries": 3, "retry_delay": 5 * MINUTE}) as dag:

        @task
        def for_good() -> None:
            raise AirflowFailException("never")

        @task
        def second_time() -> int:
            tries = get_current_context()["ti"].try_number
            if tries == 1:
                raise ValueError("not yet")
            return tries

        for_good()
        second_time()
    result = finished(engine, dag)
    assert [(one.state, one.tries) for one in result.tasks] == [("failed", 1), ("success", 2)]


@pytest.mark.parametrize("mode", ["poke", "reschedule"])
@pytest.mark.parametrize(
    ("looks", "more", "state", "hours"),
    [
        (3, {}, "success", 2.0),
        (1, {}, "success", 0.0),
        (99, {"timeout": 4 * 3600}, "failed", 4.0),
        (99, {"timeout": 4 * 3600, "retries": 5}, "failed", 4.0),
        (99, {"timeout": 4 * 3600, "soft_fail": True}, "skipped", 4.0),
        (4, {"exponential_backoff": True}, "success", 7.0),
        (4, {"exponential_backoff": True, "max_wait": 7200}, "success", 5.0),
    ],
)
def test_a_sensor_looks_until_it_is_there_or_its_time_is_up(
    engine: Engine, mode: Any, looks: int, more: dict[str, Any], state: str, hours: float
) -> None:
    looked: list[datetime] = []
    with DAG("sensing", schedule=None) as dag:

        @task.sensor(mode=mode, poke_interval=3600, **more)
        def is_there() -> bool:
            looked.append(engine.now)
            return len(looked) >= looks

        is_there() >> EmptyOperator(task_id="after")
    result = finished(engine, dag)
    assert (result["is_there"].state, result["is_there"].tries) == (state, 1)
    assert (looked[-1] - NOON) / timedelta(hours=1) == hours
    assert result["after"].state == {"failed": "upstream_failed"}.get(state, state)


@pytest.mark.parametrize("mode", ["poke", "reschedule"])
def test_a_sensor_that_raises_is_tried_again_and_may_skip_itself(engine: Engine, mode: Any) -> None:
    with DAG("raising", schedule=None) as dag:

        @task.sensor(mode=mode, retries=1, retry_delay=5 * MINUTE)
        def second_try() -> bool:
            if get_current_context()["ti"].try_number == 1:
                raise ValueError("broken")
            return True

        @task.sensor(mode=mode)
        def not_today() -> bool:
            raise AirflowSkipException("not today")

        @task.sensor(mode=mode, soft_fail=True)
        def only_its_time_is_soft() -> bool:
            raise ValueError("broken")

        second_try()
        not_today()
        only_its_time_is_soft()
    result = finished(engine, dag)
    assert [(one.state, one.tries) for one in result.tasks] == [("success", 2), ("skipped", 1), ("failed", 1)]


@pytest.mark.parametrize(
    ("elements", "state", "total"),
    [([], "skipped", None), ([[7]], "success", 7), ([[1, 2], [3], []], "success", 6), ([(4, 5)], "success", 9)],
)
def test_a_task_is_mapped_over_what_another_returns_and_its_results_are_gathered(
    engine: Engine, elements: list[Any], state: str, total: int | None
) -> None:
    with DAG("mapped", schedule=None) as dag:

        @task
        def elements_of() -> list[Any]:
            return [{"numbers": numbers, "deep": {"er": [numbers]}} for numbers in elements]

        @task
        def add(element: dict[str, Any]) -> dict[str, int]:
            assert element["deep"]["er"] == [element["numbers"]]
            return {"sum": sum(element["numbers"])}

        @task
        def total_of(sums: Any) -> int:
            return sum(each["sum"] for each in sums)

        total_of(add.expand(element=elements_of()))
    result = finished(engine, dag)
    assert (result.state, result["total_of"].state, result["total_of"].value) == ("success", state, total)
    assert len([one for one in result.tasks if one.task_id == "add"]) == max(1, len(elements))


def test_mapped_over_pairs_and_products_each_instance_has_its_own(engine: Engine) -> None:
    with DAG("crossed", schedule=None) as dag:

        @task
        def letters() -> list[str]:
            return ["a", "b"]

        @task
        def put_together(letter: Any, number: int = 0) -> str:
            return f"{letter}{number}"

        put_together.expand(letter=letters(), number=[1, 2])
        put_together.override(task_id="zipped").expand(letter=letters().zip(letters().map(str.upper)))
        put_together.override(task_id="sets").expand_kwargs([{"letter": "x"}, {"letter": "y", "number": 5}])
    result = finished(engine, dag)
    assert result.values("put_together") == ["a1", "a2", "b1", "b2"]
    assert result.values("zipped") == ["('a', 'A')0", "('b', 'B')0"]
    assert result.values("sets") == ["x0", "y5"]
