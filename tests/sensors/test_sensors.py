"""Sensors wait until something is there, in either mode, and end as their author wants when it does not come."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bide.model.outcome import Failed, Outcome, Rescheduled, Skipped, Succeeded
from tests.authoring.world import dag_in, failure, leg_of, plan_of, returned

SENSOR = """
    from datetime import timedelta
    from bide import DAG, BaseSensorOperator, PokeReturnValue, task
    from bide.exceptions import *
    from bide.sensors.python import PythonSensor

    looks = []

    def look(answers):
        looks.append(1)
        answer = answers[min(len(looks), len(answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    with DAG("d") as dag:
        dag.looks = looks
        PythonSensor(task_id="t", python_callable=lambda: look({}), **{{"poke_interval": 0.001, **dict({})}})
"""


def looks(answers: str, arguments: str = "", **known: Any) -> tuple[Outcome, int]:
    dag: Any = dag_in(SENSOR.format(answers, arguments))
    outcome = leg_of(dag, "t", **known)
    return outcome, len(dag.looks)


def test_it_looks_until_it_is_there() -> None:
    assert looks("[False, 0, None, True]") == (Succeeded({}), 4)


def test_what_it_finds_can_be_returned() -> None:
    outcome, count = looks("[PokeReturnValue(False, 'no'), PokeReturnValue(True, 'found')]")
    assert (returned(outcome), count) == ("found", 2)


def test_in_mode_reschedule_it_looks_once_and_comes_again() -> None:
    arguments = "mode='reschedule', poke_interval=timedelta(minutes=5)"
    assert looks("[False]", arguments) == (Rescheduled(after=timedelta(minutes=5)), 1)
    assert looks("[True]", arguments) == (Succeeded({}), 1)


LATE = "It did not come within 0:00:00.020000."


@pytest.mark.parametrize("mode", ["poke", "reschedule"])
def test_when_its_time_is_up_it_fails_for_good(mode: str) -> None:
    outcome, count = looks("[False]", f"mode={mode!r}, timeout=0.02", sensor_time_left=timedelta(0))
    assert outcome == Failed(LATE, "", retryable=False)
    assert count == 1


def test_it_looks_a_last_time_when_its_time_is_up() -> None:
    assert looks("[True]", "timeout=0.02", sensor_time_left=timedelta(seconds=-5)) == (Succeeded({}), 1)


def test_in_mode_poke_its_own_clock_is_enough() -> None:
    outcome, count = looks("[False]", "timeout=0.02, poke_interval=0.005")
    assert failure(outcome) == LATE
    assert 2 <= count <= 6


@pytest.mark.parametrize(
    ("answers", "arguments", "expected"),
    [
        ("[False]", "timeout=0.02, soft_fail=True", Skipped(f"Skipped instead of failing: {LATE}")),
        ("[False]", "timeout=0.02, never_fail=True", Skipped(f"Skipped instead of failing: {LATE}")),
        ("[AirflowFailException('no')]", "soft_fail=True", Skipped("Skipped instead of failing: no")),
        ("[ValueError('no')]", "soft_fail=True", Failed("ValueError: no")),
        ("[ValueError('no')]", "never_fail=True", Skipped("Skipped instead of failing: no")),
        ("[ValueError('no'), True]", "silent_fail=True", Succeeded({})),
        ("[AirflowFailException('no')]", "silent_fail=True", Failed("no", retryable=False)),
        ("[AirflowSkipException('no need')]", "never_fail=True", Skipped("no need")),
    ],
)  # fmt: skip
def test_failures_are_what_the_author_wants_them_to_be(answers: str, arguments: str, expected: Outcome) -> None:
    outcome, _ = looks(answers, arguments)
    if isinstance(expected, Failed):
        assert isinstance(outcome, Failed)
        assert (outcome.error, outcome.retryable) == (expected.error, expected.retryable)
    else:
        assert outcome == expected


@pytest.mark.parametrize(
    ("waited", "pause"),
    [(0, 10), (9.5, 10), (10.5, 20), (29, 20), (31, 40), (71, 60), (500, 60)],
)
def test_with_exponential_backoff_each_pause_is_twice_the_one_before(waited: float, pause: float) -> None:
    arguments = "mode='reschedule', poke_interval=10, exponential_backoff=True, max_wait=60, timeout=1000"
    outcome, _ = looks("[False]", arguments, sensor_time_left=timedelta(seconds=1000 - waited))
    assert outcome == Rescheduled(after=timedelta(seconds=pause))


def test_a_try_that_has_no_time_left_can_be_skipped_softly() -> None:
    outcome, _ = looks("[False]", "poke_interval=30, soft_fail=True", try_time_left=timedelta(milliseconds=50))
    assert outcome == Skipped("Skipped instead of failing: The task has taken longer than its execution_timeout.")


def test_functions_and_classes_are_sensors_too() -> None:
    dag = dag_in("""
        from bide import DAG, BaseSensorOperator, PokeReturnValue, task
        class Own(BaseSensorOperator):
            template_fields = ("day",)
            def __init__(self, day, **kwargs):
                super().__init__(**kwargs)
                self.day = day
            def poke(self, context):
                return self.day == context["ds"]
        with DAG("d"):
            Own(task_id="own", day="{{ ds }}")
            @task.sensor(poke_interval=1, timeout=60, mode="poke")
            def asked(x):
                return PokeReturnValue(x == 1, "yes")
            asked(1)
    """)
    assert leg_of(dag, "own") == Succeeded({})
    assert returned(leg_of(dag, "asked")) == "yes"


def test_the_plan_knows_how_long_a_sensor_waits() -> None:
    plan = plan_of("""
        from datetime import timedelta
        from bide import DAG, task
        from bide.operators.bash import BashOperator
        from bide.sensors.python import PythonSensor
        with DAG("d", default_args={"timeout": 70}):
            PythonSensor(task_id="a", python_callable=print, timeout=60, soft_fail=True)
            PythonSensor(task_id="b", python_callable=print)
            PythonSensor.partial(task_id="c", python_callable=print, timeout=timedelta(hours=1)).expand(op_args=[[1]])
            task.sensor(task_id="d")(lambda x: x).expand(x=[1])
            BashOperator(task_id="e", bash_command="x")
    """)
    assert [(task.sensor_timeout, task.soft_fail) for task in plan.tasks] == [
        (timedelta(seconds=60), True),
        (timedelta(seconds=70), False),
        (timedelta(hours=1), False),
        (timedelta(seconds=70), False),
        (None, False),
    ]


# Clocks and calendars. ----------------------------------------------------------------------------------------

CLOCK = """
    import pendulum
    from datetime import UTC, datetime, time, timedelta
    from bide import DAG
    from bide.sensors.bash import BashSensor
    from bide.sensors.date_time import DateTimeSensor
    from bide.sensors.time import TimeSensor
    from bide.sensors.time_delta import TimeDeltaSensor
    from bide.sensors.weekday import DayOfWeekSensor, WeekDay
    with DAG("d", start_date=pendulum.datetime(2020, 1, 1, tz={!r})):
        {}(task_id="t", timeout=0, {})
"""


def is_there(sensor: str, arguments: str, zone: str = "UTC", **known: Any) -> bool:
    outcome = leg_of(dag_in(CLOCK.format(zone, sensor, arguments)), "t", **known)
    if isinstance(outcome, Succeeded):
        return True
    assert failure(outcome) == "It did not come within 0:00:00."
    return False


@pytest.mark.parametrize(
    ("target", "there"),
    [
        ("datetime(2020, 1, 1, tzinfo=UTC)", True),
        ("datetime(2999, 1, 1, tzinfo=UTC)", False),
        ("datetime(2020, 1, 1)", True),
        ("'{{ data_interval_end }}'", True),
        ("'{{ logical_date.add(years=900) }}'", False),
    ],
)
def test_a_date_is_waited_for(target: str, there: bool) -> None:
    assert is_there("DateTimeSensor", f"target_time={target}") is there


def test_a_date_that_is_none_fails_for_good() -> None:
    outcome = leg_of(dag_in(CLOCK.format("UTC", "DateTimeSensor", "target_time='soon'")), "t")
    assert failure(outcome) == "target_time 'soon' is no date in ISO form."


@pytest.mark.parametrize(("days", "there"), [(-2, True), (2, False)])
def test_a_time_of_day_is_waited_for_on_the_day_of_the_try(days: int, there: bool) -> None:
    begun = datetime.now(UTC) + timedelta(days=days)
    assert is_there("TimeSensor", "target_time=time(12)", now=begun) is there


def test_a_time_of_day_is_that_of_the_zone_of_the_dag(capfd: pytest.CaptureFixture[str]) -> None:
    evening = datetime(2026, 3, 1, 20, tzinfo=UTC)
    assert is_there("TimeSensor", "target_time=time(7)", "Asia/Tokyo", now=evening)
    assert "Waiting until 2026-03-02 07:00:00+09:00" in capfd.readouterr().err


@pytest.mark.parametrize(("delta", "there"), [("timedelta(hours=1)", True), ("timedelta(days=300_000)", False)])
def test_some_time_after_the_interval_is_waited_for(delta: str, there: bool) -> None:
    assert is_there("TimeDeltaSensor", f"delta={delta}") is there
    assert is_there("TimeDeltaSensor", f"delta={delta}", data_interval_end=None, logical_date=None) is there


@pytest.mark.parametrize(
    ("days", "there"),
    [
        ("'Sunday'", True),
        ("WeekDay.SUNDAY", True),
        ("['monday', 'sunday']", True),
        ("{'MONDAY', WeekDay.FRIDAY}", False),
    ],
)
def test_days_of_the_week_are_waited_for(days: str, there: bool) -> None:
    assert is_there("DayOfWeekSensor", f"week_day={days}, use_task_logical_date=True") == there


def test_the_day_of_the_week_is_that_of_the_zone_of_the_dag() -> None:
    late = datetime(2026, 3, 1, 23, tzinfo=UTC)
    assert is_there("DayOfWeekSensor", "week_day='monday', use_task_logical_date=True", "Asia/Tokyo", logical_date=late)
    assert is_there("DayOfWeekSensor", f"week_day={datetime.now(UTC).strftime('%A')!r}")


@pytest.mark.parametrize(
    ("arguments", "there"),
    [
        ("bash_command='true'", True),
        ("bash_command='false'", False),
        ("bash_command='exit 7', retry_exit_code=7", False),
        ("bash_command='test {{ ds }} = $DAY', env={'DAY': '2026-03-01'}", True),
    ],
)
def test_a_command_is_asked(arguments: str, there: bool) -> None:
    assert is_there("BashSensor", arguments) is there


def test_a_command_that_fails_otherwise_fails_the_task() -> None:
    outcome = leg_of(dag_in(CLOCK.format("UTC", "BashSensor", "bash_command='exit 6', retry_exit_code=7")), "t")
    assert failure(outcome) == "The command has ended with exit code 6."
