"""D9: tasks begin in their triggers, and use a worker only for what there is to do."""

from datetime import timedelta
from typing import Any

import pytest

from bide import DAG, BaseOperator, StartTriggerArgs, task
from bide.authoring.plan import to_plan
from bide.authoring.results import RunResult
from bide.errors import PlanError
from bide.testing import Engine
from bide.testing.results import result_of
from tests.deferral.triggers import After, Ending
from tests.testing.conftest import NOON

PATH = "tests.deferral.triggers.After"


class Waits(BaseOperator):
    """Begins in its trigger, and returns what that has yielded."""

    start_trigger_args = StartTriggerArgs(
        trigger_cls=PATH, trigger_kwargs={"seconds": 60, "payload": "class"}, next_method="go_on", next_kwargs={"x": 1}
    )
    start_from_trigger = True

    def execute(self, context: Any) -> Any:
        raise AssertionError("it is never executed")

    def go_on(self, context: Any, event: Any, x: int) -> Any:
        print("on a worker")
        return [event, x]


class Ends(BaseOperator):
    """Ends in its trigger."""

    def __init__(self, *, how: str = "success", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_trigger_args = StartTriggerArgs(Ending, trigger_kwargs={"how": how, "xcoms": {"return_value": 5}})
        self.start_from_trigger = True


class AsInAirflow(Waits):
    """Takes both arguments itself."""

    def __init__(self, *, trigger_kwargs: dict[str, Any] | None, start_from_trigger: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        assert self.start_trigger_args is not None
        self.start_trigger_args.trigger_kwargs = trigger_kwargs
        self.start_from_trigger = start_from_trigger


def went(engine: Engine, made: DAG) -> tuple[int, RunResult]:
    number = engine.launch(made)
    engine.go()
    return number, result_of(engine, number)


def verbs(engine: Engine, number: int, task_id: str) -> list[str]:
    """What the history says of a task."""
    return [entry.verb for entry in engine.history(number, task_id) if entry.verb != "ready"]


def test_a_task_begins_in_its_trigger_without_a_worker(engine: Engine) -> None:
    with DAG("plain", schedule=None) as made:
        Waits(task_id="by_class")
        Waits(task_id="by_instance", trigger_kwargs={"seconds": 5, "payload": "instance"})
        Ends(task_id="ends") >> Ends(task_id="skipped", how="skipped")
    number, result = went(engine, made)
    assert [task.value for task in result.tasks] == [["class", 1], ["instance", 1], 5, 5]
    assert result["skipped"].state == "skipped"
    assert verbs(engine, number, "by_class") == ["defer_at_start", "fire", "enqueue", "start", "succeed"]
    assert verbs(engine, number, "ends") == ["defer_at_start", "end"]
    assert result["by_class"].log.count("on a worker") == 1


def test_a_start_may_take_only_so_long(engine: Engine) -> None:
    class Short(Waits):
        start_trigger_args = StartTriggerArgs(PATH, trigger_kwargs={"seconds": 7200}, next_method="go_on", timeout=3600)

    with DAG("short", schedule=None) as made:
        Short(task_id="it")
    _, result = went(engine, made)
    assert (result["it"].state, engine.now) == ("failed", NOON + timedelta(hours=1))


def test_a_failure_in_the_trigger_is_tried_again_in_the_trigger(engine: Engine) -> None:
    with DAG("retries", schedule=None) as made:
        Ends(task_id="it", how="failed", retries=1, retry_delay=timedelta(minutes=5))
    number, result = went(engine, made)
    assert (result["it"].state, result["it"].tries) == ("failed", 2)
    assert verbs(engine, number, "it") == ["defer_at_start", "end", "fail", "wake", "defer_at_start", "end", "fail"]
    assert engine.now == NOON + timedelta(minutes=5)


def test_arguments_that_depend_on_the_run_are_worded_by_a_first_leg(engine: Engine) -> None:
    with DAG("depends", schedule=None) as made:

        @task
        def seconds() -> int:
            return 7200

        @task
        def payloads() -> list[dict[str, Any]]:
            return [{"seconds": 1, "payload": "{{ a }}"}, {"seconds": 2, "payload": "b"}]

        first: Any = seconds()
        Waits(task_id="templated", trigger_kwargs={"seconds": 1, "payload": "{{ run_id }}"})
        Waits(task_id="from_xcom", trigger_kwargs={"seconds": first, "payload": "late"})
        Waits.partial(task_id="literal").expand(trigger_kwargs=[{"seconds": 3, "payload": n} for n in (1, 2)])
        Waits.partial(task_id="mapped").expand(trigger_kwargs=payloads())
        AsInAirflow.partial(task_id="as_in_airflow", start_from_trigger=True).expand(
            trigger_kwargs=[{"seconds": 1, "payload": "x"}, {"seconds": 2, "payload": "y"}]
        )
    number, result = went(engine, made)
    assert result.state == "success"
    assert result["templated"].value == [result.run_id, 1]
    assert result["from_xcom"].value == ["late", 1]
    assert [value[0] for value in result.values("literal")] == [1, 2]
    assert [value[0] for value in result.values("mapped")] == ["{{ a }}", "b"]
    assert [value[0] for value in result.values("as_in_airflow")] == ["x", "y"]
    assert verbs(engine, number, "templated")[:3] == ["enqueue", "start", "defer"]
    assert engine.now >= NOON + timedelta(hours=2)


def test_the_plan_says_how_each_task_begins() -> None:
    with DAG("plan", schedule=None) as made:
        Waits(task_id="plain")
        Waits(task_id="off", start_from_trigger=False)
        Waits(task_id="templated", trigger_kwargs={"seconds": "{{ params.x }}"})
        Waits(task_id="called_before", on_execute_callback=print)
        Waits.partial(task_id="mapped").expand(trigger_kwargs=[{"seconds": 1}])
    tasks = {it.task_id: it for it in to_plan(made).tasks}
    wait = tasks["plain"].start_from_trigger
    assert wait is not None
    assert (wait.classpath, wait.next_method, wait.next_kwargs) == (PATH, "go_on", '{"x":1}')
    assert {name: (it.start_from_trigger is not None, it.start_is_templated) for name, it in tasks.items()} == {
        "plain": (True, False),
        "off": (False, False),
        "templated": (False, True),
        "called_before": (False, True),
        "mapped": (False, True),
    }


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (None, "needs start_trigger_args"),
        (StartTriggerArgs("tests.deferral.triggers.Gone"), "There is no trigger tests.deferral.triggers.Gone"),
        (StartTriggerArgs(PATH), "missing 1 required positional argument: 'seconds'"),
        (StartTriggerArgs(After, trigger_kwargs={"seconds": print}), "kwargs of After\\['seconds'\\]"),
    ],
)
def test_a_start_that_cannot_be_is_refused_while_the_file_is_read(args: Any, sentence: str) -> None:
    class Wrong(Waits):
        start_trigger_args = args

    with DAG("wrong", schedule=None) as made:
        Wrong(task_id="t")
    with pytest.raises(PlanError, match=sentence):
        to_plan(made)
