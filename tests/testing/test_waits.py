"""Deferred tasks in a test: their triggers really run, nobody waits for them, and they can be fired by hand."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from bide import DAG, BaseOperator, BaseTrigger, TaskSuccessEvent, TriggerEvent
from bide.authoring.results import RunResult
from bide.authoring.sensor import BaseSensorOperator
from bide.testing import Engine, jumping, run
from bide.testing.jumping import NothingComes
from bide.testing.results import result_of
from tests.deferral.triggers import After, Asks, Broken, Killed, Never, Until
from tests.testing.conftest import NOON


class Defers(BaseOperator):
    """Waits for a trigger and returns what it has yielded."""

    def __init__(self, *, trigger: BaseTrigger, patience: timedelta | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.trigger, self.patience = trigger, patience

    def execute(self, context: Any) -> Any:
        self.defer(trigger=self.trigger, method_name="go_on", timeout=self.patience)

    def go_on(self, context: Any, event: Any = None) -> Any:
        return event


class InThread(BaseTrigger):
    """Has a thread do something that takes a moment, with a timeout that is over much later."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        worked = threading.Event()
        threading.Timer(0.05, worked.set).start()
        yield TriggerEvent(await asyncio.wait_for(asyncio.to_thread(worked.wait, 10), 3600))


class Listens(BaseTrigger):
    """Waits for somebody to connect, who never comes."""

    async def run(self) -> AsyncIterator[TriggerEvent]:
        come = asyncio.Event()
        async with await asyncio.start_server(lambda *_: come.set(), "127.0.0.1", 0):
            await come.wait()
            yield TriggerEvent()


def waits_for(*triggers: BaseTrigger, **given: Any) -> DAG:
    with DAG("waits", schedule=None) as made:
        for number, trigger in enumerate(triggers):
            Defers(task_id=f"t{number}", trigger=trigger, **given)
    return made


def went(engine: Engine, made: DAG) -> RunResult:
    number = engine.launch(made)
    engine.go()
    return result_of(engine, number)


def test_a_trigger_that_sleeps_for_hours_takes_no_time(engine: Engine) -> None:
    begun = time.monotonic()
    result = went(engine, waits_for(After(7200, "two hours"), After(60, "a minute"), Until(NOON + timedelta(hours=3))))
    assert [task.value for task in result.tasks] == ["two hours", "a minute", NOON + timedelta(hours=3)]
    assert engine.now == NOON + timedelta(hours=3)
    assert time.monotonic() - begun < 30
    assert "sleeping for 7200 s" in result["t0"].log


def test_a_trigger_asks_the_engine_and_knows_its_task(engine: Engine) -> None:
    made = waits_for(Asks("key"))
    number = engine.launch(made)
    engine.step()
    engine.set_variable("key", "found")
    engine.go()
    value = result_of(engine, number)["t0"].value
    assert value[:2] == ["found", "t0"]
    assert value[2] > 0


def test_real_work_takes_its_time(engine: Engine) -> None:
    result = went(engine, waits_for(InThread(), After(10)))
    assert result["t0"].value is True


def test_a_wait_for_what_never_comes_ends_when_its_time_is_up(engine: Engine) -> None:
    Never.seen.clear()
    result = went(engine, waits_for(Never(), Killed("job"), patience=timedelta(hours=5)))
    assert [task.state for task in result.tasks] == ["failed", "failed"]
    assert engine.now == NOON + timedelta(hours=5, seconds=1)
    assert sorted(Never.seen) == sorted(
        ["never runs", "job runs", "never cleans up", "job is timed_out", "job cleans up"]
    )


def test_without_a_timeout_the_run_stays_where_it_is(engine: Engine) -> None:
    result = went(engine, waits_for(Never()))
    assert (result.state, result["t0"].state) == ("running", "deferred")


def test_real_work_that_never_ends_is_waited_for_once(server_url: str) -> None:
    with Engine.fresh(NOON, patience=timedelta(seconds=0.2)) as engine:
        begun = time.monotonic()
        assert went(engine, waits_for(Listens()))["t0"].state == "deferred"
        assert time.monotonic() - begun < 5


def test_a_trigger_that_polls_for_ever_is_noticed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jumping, "MOST_JUMPS", 500)
    with pytest.raises(NothingComes, match="Until"):
        went(engine, waits_for(Until(NOON + timedelta(days=365))))


@pytest.mark.parametrize("where", ["path", "init", "run", "payload", "nothing"])
def test_a_trigger_that_breaks_fails_its_task_and_says_why(engine: Engine, where: str) -> None:
    result = went(engine, waits_for(Broken(where), After(1, "well")))
    assert [task.state for task in result.tasks] == ["failed", "success"]
    words = {
        "path": "no trigger tests.deferral.nowhere.Broken",
        "init": "broken in __init__",
        "run": "broken in run",
        "payload": "payload of the event",
        "nothing": "without yielding an event",
    }
    assert words[where] in result["t0"].log


def test_triggers_are_fired_by_hand() -> None:
    events = {"t0": {"status": "done"}, "t1": TaskSuccessEvent(xcoms={"return_value": 3}), "t2": ValueError("no")}
    result = run(waits_for(Never(), Never(), Never()), events=events)
    assert [(task.state, task.value) for task in result.tasks] == [
        ("success", {"status": "done"}),
        ("success", 3),
        ("failed", None),
    ]


def test_firing_goes_step_by_step(engine: Engine) -> None:
    Never.seen.clear()
    number = engine.launch(waits_for(Never(), After(60, "by itself"), patience=timedelta(hours=1)))
    engine.go(by_hand=["t0"])
    assert [row.task_id for row in engine.waiting(number)] == ["t0", "t1"]
    assert engine.now == NOON
    engine.fire(number, "t0", 1)
    engine.go(by_hand=["t0"])
    assert [task.value for task in result_of(engine, number).tasks] == [1, "by itself"]
    assert Never.seen == []
    with pytest.raises(ValueError, match="t0 is not deferred"):
        engine.fire(number, "t0")


def test_a_wait_that_is_cleared_is_killed_and_begun_again(engine: Engine) -> None:
    Never.seen.clear()
    number = engine.launch(waits_for(Killed("job")))
    engine.go()
    engine.clear([one.id for one in engine.states(number)[1]])
    engine.go()
    assert Never.seen == ["job runs", "job is cleared", "job cleans up", "job runs"]


class Rests(BaseSensorOperator):
    """Looks for the value that a deferred task leaves meanwhile."""

    def poke(self, context: Any) -> bool:
        return context["ti"].xcom_pull("t0") is not None


def test_others_wait_while_a_sensor_rests(engine: Engine) -> None:
    made = waits_for(After(300, "early"))
    with made:
        Rests(task_id="rests", poke_interval=60)
    result = went(engine, made)
    assert [task.state for task in result.tasks] == ["success", "success"]
    assert engine.now < NOON + timedelta(minutes=8)
