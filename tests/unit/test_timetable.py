"""Which run comes next: for each kind of schedule, with and without catchup, between start and end."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bide.errors import PlanError
from bide.model.check import check
from bide.model.plan import DagPlan, SchedulePlan
from bide.model.schedule_text import describe
from bide.model.timetable import Interval, NextRun, manual_interval, next_run, run_id_for
from bide.model.zone import zone_of

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def over(start: str, end: str) -> NextRun:
    return NextRun(at(start), Interval(at(start), at(end)), at(end))


def just(moment: str) -> NextRun:
    return NextRun(at(moment), Interval(at(moment), at(moment)), at(moment))


def cron(expression: str, timezone: str = "UTC", **more: Any) -> SchedulePlan:
    return SchedulePlan(kind="cron", arguments={"expression": expression, "timezone": timezone, **more})


def every(step: timedelta, **more: Any) -> SchedulePlan:
    return SchedulePlan(kind="delta", arguments={"seconds": step.total_seconds(), **more})


NONE, ONCE, CONTINUOUS = (SchedulePlan(kind=kind) for kind in ("none", "once", "continuous"))
DAILY, DAILY_TICK = cron("0 0 * * *"), cron("0 0 * * *", trigger=True)
SEVERAL = cron("0 6,12 * * *", trigger=True, more=("30 18 * * *", "0 12 * * *"))
NOW = "2024-05-10T12:00"
A_DAY_BEFORE = over("2024-05-09", "2024-05-10")


def dag(schedule: SchedulePlan, start: str | None = None, end: str | None = None, catchup: bool = False) -> DagPlan:
    return DagPlan(
        dag_id="d",
        tasks=(),
        schedule=schedule,
        start_date=at(start) if start else None,
        end_date=at(end) if end else None,
        catchup=catchup,
        max_active_runs=1,
    )


@pytest.mark.parametrize(
    ("plan", "now", "expected"),
    [
        (dag(NONE, "2024-05-01"), NOW, None),
        # Intervals of a cron expression: the latest complete one, or with catchup the first.
        (dag(DAILY, "2024-05-01"), NOW, over("2024-05-09", "2024-05-10")),
        (dag(DAILY, "2024-05-01"), "2024-05-10", over("2024-05-09", "2024-05-10")),
        (dag(DAILY, "2024-05-01"), "2024-05-09T23:59:59.999999", over("2024-05-08", "2024-05-09")),
        (dag(DAILY, "2024-05-01", catchup=True), NOW, over("2024-05-01", "2024-05-02")),
        (dag(DAILY, "2024-05-01T00:00:01", catchup=True), NOW, over("2024-05-02", "2024-05-03")),
        (dag(DAILY), NOW, over("2024-05-09", "2024-05-10")),
        (dag(DAILY, catchup=True), NOW, over("2024-05-09", "2024-05-10")),
        (dag(DAILY, "2024-06-01"), NOW, over("2024-06-01", "2024-06-02")),
        (dag(DAILY, "2024-05-01", "2024-05-09"), NOW, over("2024-05-09", "2024-05-10")),
        (dag(DAILY, "2024-05-01", "2024-05-08T23:59"), NOW, None),
        (dag(cron("0 0 * * *", "Europe/Berlin"), "2024-05-01"), NOW, over("2024-05-08T22:00", "2024-05-09T22:00")),
        # Ticks of a cron expression: the latest, or with catchup the first.
        (dag(DAILY_TICK, "2024-05-01"), NOW, just("2024-05-10")),
        (dag(DAILY_TICK, "2024-05-01"), "2024-05-10", just("2024-05-10")),
        (dag(DAILY_TICK, "2024-05-01", catchup=True), NOW, just("2024-05-01")),
        (dag(DAILY_TICK, "2024-05-01T08:00", catchup=True), NOW, just("2024-05-02")),
        (dag(DAILY_TICK, "2024-06-01"), NOW, just("2024-06-01")),
        (dag(DAILY_TICK, "2024-05-01", "2024-05-09"), NOW, None),
        # Nobody said when to start: with the next tick, or one that has just been missed.
        (dag(DAILY_TICK), NOW, just("2024-05-11")),
        (dag(DAILY_TICK), "2024-05-10T02:24", just("2024-05-10")),
        (dag(DAILY_TICK), "2024-05-10T02:25", just("2024-05-11")),
        (dag(DAILY_TICK, catchup=True), "2024-05-10", just("2024-05-10")),
        (dag(cron("*/20 * * * *", trigger=True)), "2024-05-10T12:05", just("2024-05-10T12:00")),
        (dag(cron("*/20 * * * *", trigger=True)), "2024-05-10T12:05:01", just("2024-05-10T12:20")),
        # Several cron expressions: whichever comes first; where they meet there is one run.
        (dag(SEVERAL, "2024-05-10T13:00", catchup=True), NOW, just("2024-05-10T18:30")),
        (dag(SEVERAL, "2024-05-10T06:00:01"), NOW, just("2024-05-10T12:00")),
        (dag(cron("0 0 */29 2 1#5", trigger=True, more=("0 6 * * *",))), "2024-05-10T06:01", just("2024-05-10T06:00")),
        # Equal steps, from the start on.
        (dag(every(DAY), "2024-05-01T03:30"), NOW, over("2024-05-09T03:30", "2024-05-10T03:30")),
        (dag(every(DAY), "2024-05-01T12:00"), NOW, over("2024-05-09T12:00", "2024-05-10T12:00")),
        (dag(every(DAY), "2024-05-01T03:30", catchup=True), NOW, over("2024-05-01T03:30", "2024-05-02T03:30")),
        (dag(every(8 * HOUR)), NOW, over("2024-05-10T00:00", "2024-05-10T08:00")),
        (dag(every(DAY), "2024-06-01"), NOW, over("2024-06-01", "2024-06-02")),
        (dag(every(DAY, trigger=True), "2024-05-01T03:30"), NOW, just("2024-05-10T03:30")),
        (dag(every(DAY, trigger=True), "2024-05-01T03:30", catchup=True), NOW, just("2024-05-01T03:30")),
        (dag(every(7 * DAY, trigger=True), "2024-05-06", "2024-05-06"), NOW, just("2024-05-06")),
        # Due at a tick, about some time before it.
        (dag(cron("0 0 * * *", trigger=True, interval=86400)), "2024-05-10", A_DAY_BEFORE),
        (dag(every(DAY, trigger=True, interval=86400), "2024-05-10", "2024-05-10"), "2024-05-10", A_DAY_BEFORE),
        (dag(every(DAY, trigger=True, interval=86400), "2024-05-10", "2024-05-09T23:59"), "2024-05-10", None),
        # Once, and without a pause.
        (dag(ONCE, "2024-05-01"), NOW, just("2024-05-01")),
        (dag(ONCE), NOW, just(NOW)),
        (dag(ONCE, "2024-06-01"), NOW, just("2024-06-01")),
        (dag(CONTINUOUS, "2024-05-01"), NOW, over("2024-05-01", NOW)),
        (dag(CONTINUOUS), NOW, just(NOW)),
        (dag(CONTINUOUS, "2024-06-01"), NOW, just("2024-06-01")),
        (dag(CONTINUOUS, "2024-05-01", "2024-05-10T11:59"), NOW, None),
        # At the ends of the calendar.
        (dag(DAILY, "9999-12-31"), NOW, None),
        (dag(every(DAY), "9999-12-31"), NOW, None),
        (dag(cron("0 0 */29 2 1#5"), "2024-05-01"), NOW, None),
    ],
)
def test_the_first_run(plan: DagPlan, now: str, expected: NextRun | None) -> None:
    assert next_run(plan, None, at(now)) == expected


@pytest.mark.parametrize(
    ("plan", "last", "now", "expected"),
    [
        (dag(NONE), ("2024-05-01", "2024-05-02"), NOW, None),
        (dag(ONCE), ("2024-05-01", "2024-05-01"), NOW, None),
        # The next one, also before it is due; without catchup what was missed is passed over.
        (dag(DAILY, "2024-05-01"), ("2024-05-09", "2024-05-10"), NOW, over("2024-05-10", "2024-05-11")),
        (dag(DAILY, "2024-05-01"), ("2024-05-01", "2024-05-02"), NOW, over("2024-05-09", "2024-05-10")),
        (dag(DAILY, "2024-05-01", catchup=True), ("2024-05-01", "2024-05-02"), NOW, over("2024-05-02", "2024-05-03")),
        (dag(DAILY, "2024-06-01", catchup=True), ("2024-05-01", "2024-05-02"), NOW, over("2024-06-01", "2024-06-02")),
        (dag(DAILY, "2024-05-01", "2024-05-09"), ("2024-05-09", "2024-05-10"), NOW, None),
        (dag(DAILY_TICK, "2024-05-01"), ("2024-05-10", "2024-05-10"), NOW, just("2024-05-11")),
        (dag(DAILY_TICK), ("2024-05-01", "2024-05-01"), NOW, just("2024-05-10")),
        (dag(DAILY_TICK, "2024-05-01", catchup=True), ("2024-05-01", "2024-05-01"), NOW, just("2024-05-02")),
        (dag(every(DAY), "2024-05-01"), ("2024-05-09", "2024-05-10"), NOW, over("2024-05-10", "2024-05-11")),
        (dag(every(DAY), "2024-05-01"), ("2024-05-01", "2024-05-02"), NOW, over("2024-05-09", "2024-05-10")),
        (dag(every(DAY), catchup=True), ("2024-05-01", "2024-05-02"), NOW, over("2024-05-02", "2024-05-03")),
        (dag(every(DAY, trigger=True)), ("2024-05-01T03:00", "2024-05-01T03:00"), NOW, just("2024-05-10T03:00")),
        (dag(CONTINUOUS, "2024-05-01"), ("2024-05-01", "2024-05-02"), NOW, over("2024-05-02", NOW)),
        (dag(CONTINUOUS), (NOW, NOW), NOW, just(f"{NOW}:00.000001")),
        # The schedule was another one: no date comes twice, and nothing overlaps more than it must.
        (dag(DAILY), ("2024-05-10T11:00", "2024-05-10T12:00"), NOW, over("2024-05-11", "2024-05-12")),
        (dag(DAILY), ("2024-05-06", "2024-05-13"), "2024-05-13", over("2024-05-13", "2024-05-14")),
        (dag(DAILY), ("2024-05-09T12:00", "2024-05-10T12:00"), NOW, over("2024-05-10", "2024-05-11")),
        (dag(cron("0 * * * *")), ("2024-05-09", "2024-05-10"), NOW, over("2024-05-10T11:00", "2024-05-10T12:00")),
        (dag(every(HOUR)), ("2024-05-09", "2024-05-10T11:30"), NOW, over("2024-05-10T11:30", "2024-05-10T12:30")),
        (dag(DAILY), ("2024-05-10", "2024-05-10"), NOW, over("2024-05-11", "2024-05-12")),
    ],
)
def test_the_run_after_the_last(plan: DagPlan, last: tuple[str, str], now: str, expected: NextRun | None) -> None:
    assert next_run(plan, Interval(*map(at, last)), at(now)) == expected


def test_intervals_are_as_long_as_days_are_on_the_wall() -> None:
    plan = dag(cron("0 0 * * *", "Europe/Berlin"), "2024-03-29T23:00", catchup=True)
    spring = [run.interval.end - run.interval.start for run in runs(plan, 3)]
    assert spring == [DAY, 23 * HOUR, DAY]
    plan = dag(cron("0 0 * * *", "Australia/Lord_Howe"), "2024-04-05T13:00", catchup=True)
    assert [run.interval.end - run.interval.start for run in runs(plan, 3)] == [DAY, 24.5 * HOUR, DAY]


def test_steps_are_as_long_as_they_are_though_the_start_is_a_date_in_a_zone() -> None:
    start = datetime(2024, 3, 30, tzinfo=zone_of("Europe/Berlin"))
    plan = DagPlan(dag_id="d", tasks=(), schedule=every(DAY), start_date=start, catchup=True)
    assert [run.logical_date for run in runs(plan, 3)] == [start.astimezone(UTC) + n * DAY for n in range(3)]


def runs(plan: DagPlan, number: int, now: str = NOW) -> list[NextRun]:
    found: list[NextRun] = []
    while len(found) < number and (run := next_run(plan, found[-1].interval if found else None, at(now))):
        found.append(run)
    return found


EXPRESSIONS = ["* * * * *", "*/7 * * * *", "30 * * * *", "30 2 * * *", "0 */5 * * *", "15,45 1-3 * * *", "0 0 29 2 *"]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"]
schedules = st.builds(
    cron, st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES), trigger=st.booleans()
) | st.builds(every, st.timedeltas(timedelta(seconds=1), timedelta(days=400)), trigger=st.booleans())  # fmt: skip
changes = st.sampled_from(
    ["2024-03-30T23:00", "2024-10-26T23:00", "2024-10-05T12:00", "2024-11-03T04:00", "2024-04-06"]
)


@settings(deadline=None, max_examples=50)
@given(schedules, changes, st.timedeltas(timedelta(0), DAY))
def test_runs_follow_one_another_without_a_gap(schedule: SchedulePlan, near: str, since: timedelta) -> None:
    start = at(near) + since
    plan = DagPlan(dag_id="d", tasks=(), schedule=schedule, start_date=start, catchup=True)
    found = runs(plan, 40)
    assert len(found) == 40
    assert found[0].logical_date >= start
    for run, after in pairwise(found):
        assert run.due_at == run.interval.end
        assert after.due_at > run.due_at
        assert after.logical_date > run.logical_date
        if schedule.arguments["trigger"]:
            assert run.interval.start == run.interval.end == run.logical_date
        else:
            assert run.interval.start == run.logical_date < run.interval.end == after.interval.start


@settings(deadline=None, max_examples=50)
@given(schedules, changes, st.timedeltas(timedelta(0), DAY))
def test_without_catchup_the_run_is_the_latest_of_those_that_catchup_would_find(
    schedule: SchedulePlan, near: str, since: timedelta
) -> None:
    start = at(near)
    now = start + since
    plan = DagPlan(dag_id="d", tasks=(), schedule=schedule, start_date=start, catchup=True)
    run = latest = next_run(plan, None, now)
    while run and run.due_at <= now:
        latest, run = run, next_run(plan, run.interval, now)
    assert next_run(DagPlan(dag_id="d", tasks=(), schedule=schedule, start_date=start), None, now) == latest


@pytest.mark.parametrize(
    ("plan", "interval"),
    [
        (dag(NONE), (NOW, NOW)),
        (dag(ONCE, "2024-01-01"), (NOW, NOW)),
        (dag(CONTINUOUS), (NOW, NOW)),
        (dag(DAILY), ("2024-05-09", "2024-05-10")),
        (dag(DAILY_TICK), (NOW, NOW)),
        (dag(cron("0 12 * * *")), ("2024-05-09T12:00", NOW)),
        (dag(every(2 * HOUR), "2024-01-01"), ("2024-05-10T10:00", NOW)),
        (dag(every(2 * HOUR, trigger=True)), (NOW, NOW)),
        (dag(cron("0 0 */29 2 1#5")), (NOW, NOW)),
    ],
)
def test_a_run_that_a_person_launches_is_about_the_last_complete_interval(
    plan: DagPlan, interval: tuple[str, str]
) -> None:
    assert manual_interval(plan, at(NOW)) == Interval(*map(at, interval))


def test_a_run_is_named_for_its_date() -> None:
    there = datetime(2024, 5, 10, 2, tzinfo=zone_of("Europe/Berlin"))
    assert run_id_for("scheduled", there) == "scheduled__2024-05-10T00:00:00+00:00"


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        (NONE, "When asked for"),
        (ONCE, "Once"),
        (CONTINUOUS, "Whenever the last run has ended"),
        (cron("0 6 * * MON-FRI", "Europe/Berlin"), "At 06:00 on Monday through Friday, Europe/Berlin"),
        (cron("0 6 * * *", more=("30 7 * * *",)), "At 06:00 every day; At 07:30 every day, UTC"),
        (every(DAY), "Every day"),
        (every(14 * DAY), "Every 2 weeks"),
        (every(90 * timedelta(minutes=1)), "Every 90 minutes"),
        (every(timedelta(seconds=1.5)), "Every 1.5 seconds"),
    ],
)
def test_a_schedule_is_said_in_english(schedule: SchedulePlan, said: str) -> None:
    assert describe(schedule) == said


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"schedule": SchedulePlan(kind="lunar")}, "of the kind 'lunar', which this Bide does not know"),
        ({"schedule": SchedulePlan(kind="cron")}, "kind 'cron', but its arguments are wrong: .*`expression`"),
        ({"schedule": SchedulePlan(kind="delta", arguments={"seconds": "1"})}, "its arguments are wrong"),
        ({"schedule": cron("0 0 30 2 *")}, "'0 0 30 2 *' cannot be used: bad day-of-month"),
        ({"schedule": cron("0 0 */29 2 1#5")}, "names a date that never comes; correct the day or month"),
        ({"schedule": cron("0 0 * * *", "Europe/Berlim")}, "'Europe/Berlim'; did you mean 'Europe/Berlin'?"),
        ({"schedule": cron("0 0 * * *", "../etc/passwd")}, "There is no time zone '../etc/passwd'"),
        ({"schedule": cron("0 0 * * *", "+25:00")}, "There is no time zone '+25:00'"),
        ({"timezone": "Nowhere"}, "There is no time zone 'Nowhere'"),
        ({"timezone": "Europe"}, "There is no time zone 'Europe'"),
        ({"schedule": every(timedelta(0))}, "The schedule comes every 0 s; that must be 1 s to"),
        ({"schedule": every(-DAY)}, "The schedule comes every -86400 s"),
        ({"schedule": SchedulePlan(kind="delta", arguments={"seconds": float("nan")})}, "comes every nan s"),
        ({"schedule": CONTINUOUS, "max_active_runs": 2}, "set max_active_runs to 1, not 2"),
        ({"start_date": at("1899-12-31")}, "it must not lie before 1900"),
    ],
)  # fmt: skip
def test_a_schedule_that_cannot_be_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError) as refused:
        check(DagPlan(**{"dag_id": "d", "tasks": ()} | changed))
    for piece in said.split(".*"):
        assert piece in str(refused.value)


@pytest.mark.parametrize("schedule", [NONE, ONCE, DAILY, DAILY_TICK, every(DAY), cron("0 0 L * *", "UTC+05:45")])
def test_a_schedule_that_can_be_is_accepted(schedule: SchedulePlan) -> None:
    check(DagPlan(dag_id="d", tasks=(), schedule=schedule))


def test_the_schedule_without_a_pause_is_accepted_with_one_run_at_a_time() -> None:
    check(dag(CONTINUOUS))
