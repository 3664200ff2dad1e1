"""D1 to D6: deferring from anywhere, going on in a new instance, and how a trigger ends its task."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

import pytest

from bide import DAG, BaseOperator, TaskDeferred
from bide.authoring.results import RunResult
from bide.testing import Engine
from bide.testing.results import result_of
from tests.deferral.triggers import After, Ending
from tests.testing.conftest import NOON


class Deep(BaseOperator):
    """Does some work, and then defers many calls deep, twice by `defer` and once by hand."""

    template_fields = ("name",)
    made: ClassVar[list[int]] = []

    def __init__(self, *, name: str = "{{ run_id }}", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.name, self.state = name, "as made"
        self.made.append(id(self))

    def execute(self, context: Any, done: int = 0, event: Any = None) -> Any:
        assert self.state == "as made"
        self.state = f"changed by leg {done}"
        assert self.name == context["run_id"]
        if done < 3:
            self._go_deep(5, done, event)
        return self.finish(context, done, event)

    def _go_deep(self, depth: int, done: int, event: Any) -> None:
        try:
            if depth:
                self._go_deep(depth - 1, done, event)
            kwargs = {"done": done + 1}
            if done == 1:
                raise TaskDeferred(trigger=After(60, [done, event]), method_name="execute", kwargs=kwargs)
            self.defer(trigger=After(60, [done, event]), kwargs=kwargs)
        except Exception:
            raise AssertionError("a deferral is no Exception") from None

    def finish(self, context: Any, done: int, event: Any) -> Any:
        return {"done": done, "event": event, "state": self.state}


def went(engine: Engine, made: DAG) -> tuple[int, RunResult]:
    number = engine.launch(made, logical_date=NOON)
    engine.go()
    return number, result_of(engine, number)


def test_an_operator_defers_from_any_depth_and_many_times(engine: Engine) -> None:
    with DAG("deep", schedule=None) as made:
        Deep(task_id="t")
    number, result = went(engine, made)
    assert result["t"].value == {"done": 3, "event": [2, [1, [0, None]]], "state": "changed by leg 3"}
    assert engine.now == NOON + timedelta(minutes=3)
    assert [entry.verb for entry in engine.history(number, "t")].count("defer") == 3
    assert result["t"].tries == 1


class Called:
    """Who was called."""

    seen: ClassVar[list[str]] = []


def remember(context: Any) -> None:
    Called.seen.append(f"{context['ti'].task_id} {context['ti'].try_number}")


@pytest.mark.parametrize(
    ("how", "state", "tries", "called"),
    [("success", "success", 1, ["t 1"]), ("skipped", "skipped", 1, ["t 1"]), ("failed", "failed", 2, ["t 1", "t 2"])],
)
def test_a_trigger_ends_its_task_as_if_a_worker_had(
    engine: Engine, how: str, state: str, tries: int, called: list[str]
) -> None:
    Called.seen.clear()
    callbacks: dict[str, Any] = {f"on_{name}_callback": remember for name in ("success", "failure", "retry", "skipped")}
    with DAG("ends", schedule=None) as made:
        Ends(task_id="t", how=how, retries=1, retry_delay=60, **callbacks) >> Ends(task_id="after", how="success")
    number, result = went(engine, made)
    assert (result["t"].state, result["t"].tries) == (state, tries)
    assert Called.seen == called
    assert result["after"].state == {"success": "success", "skipped": "skipped", "failed": "upstream_failed"}[how]
    starts = [entry.verb for entry in engine.history(number, "t")].count("start")
    assert starts == tries
    if how == "success":
        assert engine.xcom(number, "t") == {"rows": 3}
        assert engine.xcom(number, "t", key="more") == (1, 2)


class Ends(BaseOperator):
    """Is ended by its trigger."""

    def __init__(self, *, how: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.how = how

    def execute(self, context: Any) -> None:
        self.defer(trigger=Ending(self.how, {"return_value": {"rows": 3}, "more": (1, 2)}), method_name=None)


VALUES = [
    (1, "two", {3, 4}),
    b"bytes \x00",
    NOON,
    datetime(2030, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    date(2030, 1, 1),
    timedelta(days=-1, microseconds=1),
    Decimal("1.10"),
    UUID(int=7),
    {"nan": float("inf"), "big": 2**80, "text": 'a "quoted" \u2028 text'},
]


def test_arguments_and_events_come_back_exactly_as_they_were(engine: Engine) -> None:
    with DAG("values", schedule=None) as made:
        Carries(task_id="t")
    _, result = went(engine, made)
    assert result["t"].value == [True, True]


class Carries(BaseOperator):
    """Sends values there and back."""

    def execute(self, context: Any) -> None:
        self.defer(trigger=After(1, VALUES), method_name="compare", kwargs={"sent": VALUES})

    def compare(self, context: Any, sent: Any, event: Any) -> list[bool]:
        assert [type(value) for value in event] == [type(value) for value in VALUES]
        return [sent == VALUES, event == VALUES]


class Refused(BaseOperator):
    """Wants to take along what nobody can."""

    def __init__(self, *, what: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.what = what

    def execute(self, context: Any) -> None:
        if self.what == "kwargs":
            self.defer(trigger=After(1), method_name="execute", kwargs={"a": [1, {"b": lambda: None}]})
        with open(__file__) as file:
            self.defer(trigger=After(1, {"x": file}))


@pytest.mark.parametrize(("what", "path"), [("kwargs", "kwargs of defer['a'][1]['b']"), ("file", "['payload']['x']")])
def test_what_cannot_be_taken_along_is_refused_in_the_author_s_own_line(engine: Engine, what: str, path: str) -> None:
    with DAG("refused", schedule=None) as made:
        Refused(task_id="t", what=what)
    _, result = went(engine, made)
    assert result["t"].state == "failed"
    assert path in result["t"].log
    assert "self.defer(trigger=After(1" in result["t"].log


class Nowhere(BaseOperator):
    """Defers to a method that is not there, or to one that takes no event."""

    def __init__(self, *, method: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.method = method

    def execute(self, context: Any) -> None:
        self.defer(trigger=After(1), method_name=self.method)

    def deaf(self, context: Any) -> None:
        """Takes no event."""


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        ("gone", "Nowhere has no method 'gone', so after this wait it cannot go on; only its trigger can end it."),
        ("deef", "only its trigger can end it; did you mean 'deaf'?"),
    ],
)
def test_a_method_that_is_not_there_is_named_before_the_wait_begins(engine: Engine, method: str, sentence: str) -> None:
    with DAG("nowhere", schedule=None) as made:
        Nowhere(task_id="t", method=method)
    _, result = went(engine, made)
    assert sentence in result["t"].log
    assert f"Nowhere has no method {method!r} to go on in." in result["t"].log
