"""The examples that wait for free do what they say, and none of them takes any time."""

from datetime import timedelta
from typing import Any

import pytest

from bide.authoring.results import RunResult
from bide.testing import Engine
from bide.testing.results import result_of
from tests.examples.test_examples import dag_of
from tests.testing.conftest import NOON


def went(engine: Engine, dag_id: str) -> RunResult:
    number = engine.launch(dag_of(dag_id), logical_date=NOON)
    engine.go()
    return result_of(engine, number)


@pytest.mark.parametrize(
    ("dag_id", "values", "hours"),
    [
        (
            "defer_first",
            {
                "waits_for_free": "90 degrees at first, 0:30:00 later it is cool",
                "does_not_wait": "90 degrees at first, no time later it is cool",
            },
            0.5,
        ),
        ("defer_own_trigger", {"sail": "Out of Husum"}, 6),
        ("defer_many_times", {"weigh": 12}, 3),
        (
            "defer_start_from_trigger",
            {
                "by_class": "brewed for 0:04:00",
                "by_task": "brewed for 0:07:00",
                "by_argument": "brewed for 0:02:00",
                "for_each": ["brewed for 0:03:00", "brewed for 0:05:00"],
            },
            7 / 60,
        ),
        ("defer_end_from_trigger", {"accepted": "7 to 3"}, 10),
        (
            "defer_functions",
            {"in_itself": "rye, risen 2 times", "in_another_one": "dinner for 4 after 2:00:00"},
            4,
        ),
        ("defer_sensors", {}, 8),
        ("defer_job", {"print": f"job of manual__{NOON.isoformat()}: 50 pages"}, 3 / 60),
        ("defer_secret", {"open_safe": "vault is open: 4 digits, 6 letters"}, 1 / 60),
    ],
)
def test_each_does_what_it_says(engine: Engine, dag_id: str, values: dict[str, Any], hours: float) -> None:
    engine.set_connection("example_safe", "safe", "safe://ada:secret@vault")
    result = went(engine, dag_id)
    found = {
        task_id: result.values(task_id) if isinstance(value, list) else result[task_id].value
        for task_id, value in values.items()
    }
    assert found == values
    assert engine.now - NOON == timedelta(hours=hours)


def test_what_is_meant_to_fail_or_to_be_skipped_is(engine: Engine) -> None:
    lost = went(engine, "defer_many_times")["weigh_glass"]
    assert (lost.state, lost.tries) == ("failed", 1)
    assert "glass was lost on the way" in lost.log
    ballots = went(engine, "defer_end_from_trigger")
    assert {it.task_id: it.state for it in ballots.tasks} == {
        "accepted": "success",
        "undecided": "skipped",
        "rejected": "failed",
    }
    assert went(engine, "defer_sensors")["office"].state == "skipped"
