"""D8, D11, D12, D14: limits of waiting, timers, waits that many share, and who goes first."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from bide import DAG, BaseOperator, BaseTrigger
from bide.authoring.results import RunResult
from bide.testing import Engine
from bide.testing.results import result_of
from bide.triggers.temporal import DateTimeTrigger, TimeDeltaTrigger
from tests.deferral.triggers import After, Never
from tests.testing.conftest import NOON

HOUR = timedelta(hours=1)


class Waits(BaseOperator):
    """Waits so often, each time so long at most."""

    order: ClassVar[list[str]] = []

    def __init__(
        self, *, trigger: BaseTrigger, patience: timedelta | None = None, times: int = 1, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.trigger, self.patience, self.times = trigger, patience, times

    def execute(self, context: Any, times: int = 0, event: Any = None) -> Any:
        self.order.append(self.task_id)
        if times < self.times:
            self.defer(trigger=self.trigger, kwargs={"times": times + 1}, timeout=self.patience)
        return event


def went(engine: Engine, **tasks: dict[str, Any]) -> tuple[int, RunResult]:
    with DAG("waits", schedule=None) as made:
        for task_id, given in tasks.items():
            Waits(task_id=task_id, **given)
    number = engine.launch(made)
    engine.go()
    return number, result_of(engine, number)


def lapses(engine: Engine, number: int, task_id: str) -> list[str | None]:
    return [it.why for it in engine.history(number, task_id) if it.verb == "lapse"]


def test_each_limit_holds_by_itself(engine: Engine) -> None:
    number, result = went(
        engine,
        wait={"trigger": Never(), "patience": HOUR, "retries": 1, "retry_delay": 60},
        each_wait={"trigger": After(50 * 60), "patience": HOUR, "times": 3},
        whole_try={"trigger": After(50 * 60), "patience": HOUR, "times": 3, "execution_timeout": 2 * HOUR},
        timer={"trigger": TimeDeltaTrigger(3 * HOUR), "patience": 2 * HOUR},
    )
    assert {it.task_id: (it.state, it.tries) for it in result.tasks} == {
        "wait": ("failed", 2),
        "each_wait": ("success", 1),
        "whole_try": ("failed", 1),
        "timer": ("failed", 1),
    }
    whys = {
        name: [it.why for it in engine.history(number, name) if it.verb == "lapse"] for name in ("wait", "whole_try")
    }
    assert whys == {"wait": ["trigger_timeout"] * 2, "whole_try": ["execution_timeout"]}


def test_timers_are_rows_that_no_triggerer_holds(engine: Engine) -> None:
    number, result = went(
        engine,
        date={"trigger": DateTimeTrigger(NOON + 5 * HOUR)},
        past={"trigger": DateTimeTrigger(NOON - HOUR)},
        whole={"trigger": TimeDeltaTrigger(2 * HOUR, end_from_trigger=True)},
        again={"trigger": TimeDeltaTrigger(HOUR), "times": 2},
    )
    assert [it.value for it in result.tasks] == [NOON + 5 * HOUR, NOON - HOUR, None, HOUR]
    assert [it.verb for it in engine.history(number, "whole")][-2:] == ["defer", "fire_due"]
    ends = {it.task_id: engine.history(number, it.task_id)[-1].at - NOON for it in result.tasks}
    assert ends == {"date": 5 * HOUR, "past": timedelta(0), "whole": 2 * HOUR, "again": 2 * HOUR}


class Shared(After):
    """Is one for all."""

    shared = True
    runs: ClassVar[list[Any]] = []

    async def run(self) -> Any:
        self.runs.append(vars(self)["payload"])
        async for event in super().run():
            yield event


def test_equal_waits_are_one_and_each_task_goes_on_once(engine: Engine) -> None:
    Shared.runs.clear()
    tasks = {f"t{number}": {"trigger": Shared(60, number % 2)} for number in range(12)}
    _, result = went(engine, **tasks)
    assert sorted(Shared.runs) == [0, 1]
    assert [it.value for it in result.tasks] == [number % 2 for number in range(12)]


def test_a_resumed_task_goes_before_fresh_ones_of_any_priority(engine: Engine) -> None:
    Waits.order.clear()
    with DAG("order", schedule=None, max_active_tasks=1) as made:
        Waits(task_id="waited", trigger=After(0.001), priority_weight=1)
        for number in range(4):
            Waits(task_id=f"fresh{number}", trigger=After(HOUR.total_seconds()), priority_weight=50 - 10 * number)
    number = engine.launch(made)
    while len(Waits.order) < 1:
        engine.step()
    first = Waits.order[0]
    engine.go(by_hand=[first])
    engine.fire(number, first)
    before = len(Waits.order)
    engine.go()
    assert Waits.order[before] == first


@pytest.mark.parametrize(("counts", "at_once"), [(False, 3), (True, 1)])
def test_a_pool_counts_those_that_wait_only_if_it_is_told_to(engine: Engine, counts: bool, at_once: int) -> None:
    engine.set_pool("small", 1, include_deferred=counts)
    with DAG("pool", schedule=None) as made:
        for number in range(3):
            Waits(task_id=f"t{number}", trigger=After(60), pool="small")
    number = engine.launch(made)
    most = 0
    while engine.states(number)[0] not in ("success", "failed"):
        while engine.step():
            pass
        most = max(most, len(engine.waiting(number)))
        for row in engine.waiting(number):
            engine.fire(number, row.task_id)
    assert most == at_once
