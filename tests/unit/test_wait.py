"""A wait can only be asked for in ways that the database and the engine can keep."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import OutcomeError
from bide.model.transitions import FAIL_METHOD
from bide.model.wait import LONGEST_ID, LONGEST_WAIT, Wait

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)


def wait(**changes: Any) -> Wait:
    asked: dict[str, Any] = {"classpath": "waits.files.FileTrigger", "kwargs": "{}", "next_method": "resume"}
    return Wait(**asked | changes)


@pytest.mark.parametrize("path", ["a.B", "my-dags.daily_2.Poll", "a.b.c.D.E", "dägs.Wärter", "x." + "y" * 998])
def test_a_class_path_may_name_a_class_in_any_file(path: str) -> None:
    assert wait(classpath=path).classpath == path


@pytest.mark.parametrize(
    "path", ["", "Class", ".", "a.", ".B", "a..B", "a b.C", "a.B\n", "a\0.B", "a.\ud800", "x." + "y" * 999]
)
def test_what_is_no_class_path_is_refused(path: str) -> None:
    with pytest.raises(OutcomeError, match="no class path"):
        wait(classpath=path)


@pytest.mark.parametrize("method", ["", "a b", "a.b", "1st", "a\n", "m" * 1001])
def test_what_is_no_method_is_refused(method: str) -> None:
    with pytest.raises(OutcomeError, match="the name of a method"):
        wait(next_method=method)


def test_the_method_of_failed_waits_is_the_engines_own() -> None:
    with pytest.raises(OutcomeError, match="reserved"):
        wait(next_method=FAIL_METHOD)
    assert wait(next_method="__call__").next_method == "__call__"


@pytest.mark.parametrize("timeout", [timedelta(0), TICK, LONGEST_WAIT])
def test_a_timeout_may_be_anything_from_nothing_to_a_hundred_years(timeout: timedelta) -> None:
    assert wait(timeout=timeout).timeout == timeout


@pytest.mark.parametrize("timeout", [-TICK, LONGEST_WAIT + TICK, timedelta.max])
def test_a_timeout_that_leads_to_no_date_is_refused(timeout: timedelta) -> None:
    with pytest.raises(OutcomeError, match="timeout"):
        wait(timeout=timeout)


@pytest.mark.parametrize("name", ["queue", "shared_key"])
@pytest.mark.parametrize("given", ["", "a\0", "\n", "\ud800", "a" * (LONGEST_ID + 1), "ä" * (LONGEST_ID // 2 + 1)])
def test_a_name_that_the_database_could_not_keep_is_refused(name: str, given: str) -> None:
    with pytest.raises(OutcomeError, match=f"{name} .* 250 bytes"):
        wait(**{name: given})


@pytest.mark.parametrize("name", ["queue", "shared_key"])
@pytest.mark.parametrize("given", ["a", "two words", "a" * LONGEST_ID, "ä" * (LONGEST_ID // 2)])
def test_a_name_may_be_anything_that_can_be_read(name: str, given: str) -> None:
    assert getattr(wait(**{name: given}), name) == given


@pytest.mark.parametrize(
    "timer",
    [
        {"due_at": NOW, "event": "null"},
        {"due_at": NOW, "ends": True},
        {"due_in": timedelta(hours=1), "event": "null", "timeout": timedelta(0)},
        {"due_in": timedelta(hours=-1), "event": "null"},  # due at once
        {"due_in": LONGEST_WAIT, "ends": True},
        {"due_at": datetime.max.replace(tzinfo=UTC), "ends": True},
        {"due_at": datetime.min.replace(tzinfo=UTC), "event": "", "queue": "big"},
    ],
)
def test_a_timer_has_a_due_date_and_says_what_happens_then(timer: dict[str, Any]) -> None:
    assert wait(**timer).is_timer


def test_a_wait_without_a_due_date_is_no_timer() -> None:
    assert not wait(shared_key="k", on_kill=True).is_timer


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"due_at": NOW, "due_in": TICK, "event": "1"}, "not both"),
        ({"due_at": NOW}, "needs a due date and what happens"),
        ({"due_in": TICK}, "needs a due date and what happens"),
        ({"event": "1"}, "needs a due date and what happens"),
        ({"ends": True}, "needs a due date and what happens"),
        ({"due_at": NOW, "event": "1", "ends": True}, "an event or ends its task"),
        ({"due_at": NOW, "event": "1", "on_kill": True}, "neither on_kill nor a shared_key"),
        ({"due_at": NOW, "ends": True, "shared_key": "k"}, "neither on_kill nor a shared_key"),
        ({"due_at": NOW.replace(tzinfo=None), "event": "1"}, "without a time zone"),
        ({"due_at": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "event": "1"}, "no date in UTC"),
        ({"due_at": datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "event": "1"}, "no date in UTC"),
        ({"due_in": LONGEST_WAIT + TICK, "event": "1"}, "due_in"),
        ({"due_in": -LONGEST_WAIT - TICK, "event": "1"}, "due_in"),
    ],
)
def test_a_timer_that_makes_no_sense_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(OutcomeError, match=said):
        wait(**wrong)


@given(st.timedeltas(timedelta(0), LONGEST_WAIT))
def test_every_duration_that_is_accepted_leads_from_today_to_a_date(duration: timedelta) -> None:
    assert NOW + (wait(timeout=duration).timeout or timedelta(0))
