"""How a task comes to wait: what `defer` makes of a trigger, in the author's own process."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bide import BaseOperator, BaseTrigger, TaskDeferred, TaskSuccessEvent, Timer, TriggerEvent
from bide.authoring.values import VALUES
from bide.children.outcomes import outcome_of
from bide.errors import CodecError
from bide.exceptions import TaskError
from bide.model.outcome import Deferred
from bide.model.wait import Wait


class Ripe(BaseTrigger):
    """Waits for a fruit."""

    def __init__(self, fruit: Any, days: int = 3) -> None:
        super().__init__()
        self.fruit, self.days = fruit, days

    async def run(self) -> AsyncIterator[TriggerEvent]:
        yield TriggerEvent(self.fruit)


class Shared(Ripe):
    shared = True

    async def on_kill(self, reason: str) -> None:
        """Take it from the tree."""


class At(BaseTrigger):
    def __init__(self, moment: Any, event: TriggerEvent) -> None:
        super().__init__(moment=moment, event=event)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return "somewhere.At", {}

    def timer(self) -> Timer:
        return Timer(self.moment, self.event)  # type: ignore[attr-defined]


class Forgetful(Ripe):
    def __init__(self, fruit: Any, basket: str) -> None:
        super().__init__(fruit)


def wait_for(trigger: BaseTrigger, **given: Any) -> Wait:
    with pytest.raises(TaskDeferred) as raised:
        BaseOperator(task_id="task").defer(trigger=trigger, method_name="go_on", **given)
    outcome = outcome_of(raised.value)
    assert isinstance(outcome, Deferred)
    return outcome.wait


def test_a_task_that_defers_asks_for_a_wait_with_everything_that_the_next_leg_needs() -> None:
    wait = wait_for(Ripe("pear"), kwargs={"seen": datetime(2024, 1, 1, tzinfo=UTC)}, timeout=timedelta(hours=1))
    assert wait.classpath == f"{__name__}.Ripe"
    assert VALUES.decode(wait.kwargs) == {"fruit": "pear", "days": 3}
    assert wait.next_method == "go_on"
    assert VALUES.decode(wait.next_kwargs) == {"seen": datetime(2024, 1, 1, tzinfo=UTC)}
    assert wait.timeout == timedelta(hours=1)
    assert not wait.on_kill
    assert wait.shared_key is None


def test_what_cannot_be_stored_is_refused_where_the_task_defers() -> None:
    with pytest.raises(CodecError, match="fruit"):
        wait_for(Ripe(lambda: None))


def test_a_trigger_that_could_not_be_made_again_is_refused() -> None:
    with pytest.raises(TaskError, match="keeps no attribute 'basket'"):
        wait_for(Forgetful("pear", "red"))


def test_only_a_trigger_can_be_deferred_to() -> None:
    with pytest.raises(TaskError, match="not a str"):
        wait_for("pear")  # type: ignore[arg-type]


def test_except_exception_does_not_swallow_a_deferral() -> None:
    assert not issubclass(TaskDeferred, Exception)


def test_equal_arguments_of_a_shared_trigger_mean_one_wait_in_whatever_order() -> None:
    keys = {wait_for(Shared(fruit)).shared_key for fruit in ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 2})}
    assert len(keys) == 2
    assert wait_for(Shared("pear")).on_kill


def test_a_trigger_that_knows_its_date_becomes_a_timer() -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    wait = wait_for(At(moment, TriggerEvent("now")))
    assert (wait.due_at, wait.event, wait.ends) == (moment, '"now"', False)


def test_a_timer_may_be_all_there_is_to_a_task() -> None:
    wait = wait_for(At(timedelta(hours=5), TaskSuccessEvent()))
    assert (wait.due_in, wait.event, wait.ends) == (timedelta(hours=5), None, True)
