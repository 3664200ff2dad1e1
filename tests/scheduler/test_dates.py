"""Dates: retries, reschedules, timeouts of runs, and runs that are due by a schedule."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from bide.model.outcome import Failed, Rescheduled, Succeeded
from bide.model.plan import DagPlan, SchedulePlan
from bide.model.retry import RetryPolicy
from bide.model.timetable import next_run
from bide.store.legs import Started
from tests.scheduler.town import NOW, Town, dag, task, words

SEC = timedelta(seconds=1)
DAILY = SchedulePlan(kind="cron", arguments={"expression": "0 0 * * *", "timezone": "UTC"})


async def test_a_failed_task_tries_again_when_its_rest_is_over(town: Town) -> None:
    plan = dag("d", task("a", retry=RetryPolicy(retries=2, delay=10 * SEC, exponential=True)))
    await town.store(plan)
    await town.launch(plan)
    tries: list[int] = []

    def fails_twice(started: Started) -> Failed | Succeeded:
        tries.append(started.try_number)
        return Failed("no") if len(tries) < 3 else Succeeded()

    await town.play({"a": fails_twice})
    assert (await town.states(), await town.rounds.go()) == ({"a": "up_for_retry"}, 10 * SEC)
    await town.pass_time(9 * SEC)
    await town.play({"a": fails_twice})
    assert tries == [1]
    await town.pass_time(1 * SEC)
    await town.play({"a": fails_twice})
    assert (tries, await town.rounds.go()) == ([1, 2], 20 * SEC)
    await town.pass_time(20 * SEC)
    await town.play({"a": fails_twice})
    assert (tries, await town.run_states()) == ([1, 2, 3], {"run": "success"})


async def test_a_failure_that_says_so_is_not_tried_again(town: Town) -> None:
    plan = dag("d", task("a", retry=RetryPolicy(retries=5)))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"a": Failed("of no use", retryable=False)})
    assert await town.states() == {"a": "failed"}


async def test_a_sensor_that_is_rescheduled_uses_no_try(town: Town) -> None:
    plan = dag("d", task("a"))
    await town.store(plan)
    await town.launch(plan)
    looks: list[int] = []

    def third_time(started: Started) -> Rescheduled | Succeeded:
        looks.append(started.try_number)
        return Rescheduled(after=60 * SEC) if len(looks) < 3 else Succeeded()

    for _ in range(3):
        await town.play({"a": third_time})
        await town.pass_time(60 * SEC)
    assert (looks, await town.run_states()) == ([1, 1, 1], {"run": "success"})


async def test_a_run_that_takes_too_long_fails_and_its_tasks_are_stopped(town: Town) -> None:
    plan = dag("d", task("a"), task("b", "a"), dagrun_timeout=60 * SEC)
    await town.store(plan)
    await town.launch(plan)
    await town.play({"a": Rescheduled(after=3600 * SEC)})
    await town.pass_time(60 * SEC)
    await town.play()
    assert await town.run_states() == {"run": "failed"}
    assert words(await town.states()) == "a skipped, b skipped"


async def scheduled(town: Town, plan: DagPlan) -> None:
    """Store a DAG as the DAG processor does, with its next run."""
    following = next_run(plan, None, NOW)
    assert following
    await town.store(
        plan,
        next_logical_date=following.logical_date,
        next_interval_start=following.interval.start,
        next_interval_end=following.interval.end,
        next_run_at=following.due_at,
    )


async def dates(town: Town) -> list[datetime]:
    rows = await town.connection.fetch("select logical_date from dag_run order by logical_date")
    return [row["logical_date"] for row in rows]


async def test_without_catchup_only_the_latest_interval_gets_a_run(town: Town) -> None:
    plan = dag("d", task("a"), schedule=DAILY, start_date=datetime(2029, 12, 1, tzinfo=UTC), catchup=False)
    await scheduled(town, plan)
    await town.play()
    assert await dates(town) == [datetime(2029, 12, 31, tzinfo=UTC)]
    assert await town.rounds.go() == timedelta(hours=12)
    await town.pass_time(timedelta(hours=12))
    await town.play()
    assert await dates(town) == [datetime(2029, 12, 31, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)]


async def test_with_catchup_every_interval_gets_a_run_a_few_at_a_time(town: Town) -> None:
    start = datetime(2029, 12, 25, tzinfo=UTC)
    plan = dag("d", task("a"), schedule=DAILY, start_date=start, catchup=True, max_active_runs=2)
    await scheduled(town, plan)
    await town.rounds.go()
    assert len(await dates(town)) == 2
    await town.play()
    assert await dates(town) == [start + timedelta(days=day) for day in range(7)]
    assert set((await town.run_states()).values()) == {"success"}


async def test_after_a_pause_what_was_missed_is_passed_over(town: Town) -> None:
    plan = dag("d", task("a"), schedule=DAILY, start_date=datetime(2029, 12, 31, tzinfo=UTC), catchup=False)
    await scheduled(town, plan)
    await town.play()
    await town.connection.execute("update dag set is_paused = true")
    await town.pass_time(timedelta(days=10))
    await town.play()
    assert len(await dates(town)) == 1
    await town.connection.execute("update dag set is_paused = false")
    await town.play()
    assert (await dates(town))[1:] == [datetime(2030, 1, 10, tzinfo=UTC)]


async def test_catchup_over_daylight_saving_has_neither_gap_nor_overlap(town: Town) -> None:
    berlin = SchedulePlan(kind="cron", arguments={"expression": "30 2 * * *", "timezone": "Europe/Berlin"})
    start = datetime(2029, 10, 26, tzinfo=UTC)
    plan = dag(
        "d", task("a"), schedule=berlin, start_date=start, end_date=datetime(2029, 10, 31, tzinfo=UTC), catchup=True
    )
    await scheduled(town, plan)
    await town.play()
    rows = await town.connection.fetch("select data_interval_start s, data_interval_end e from dag_run order by s")
    assert all(one["e"] == other["s"] for one, other in pairwise(rows))
    assert [row["s"].strftime("%d %H:%M") for row in rows] == [
        "26 00:30",
        "27 00:30",
        "28 00:30",
        "29 01:30",
        "30 01:30",
    ]


async def test_a_continuous_dag_begins_anew_when_its_run_has_ended(town: Town) -> None:
    plan = dag("d", task("a"), schedule=SchedulePlan(kind="continuous"), start_date=NOW - 60 * SEC, max_active_runs=1)
    await scheduled(town, plan)
    for _ in range(3):
        await town.rounds.go()
        await town.pass_time(5 * SEC)
        await _once(town)
    assert len(town.ran) == 3


async def _once(town: Town) -> None:
    """Run what is offered, and nothing that follows from it."""
    before = len(town.ran)
    with suppress(AssertionError):
        await town.play(most=1)
    assert len(town.ran) == before + 1


@pytest.mark.parametrize(
    ("expression", "start", "expected"),
    [
        # Where clocks are put back a fixed time comes once, at the first of the two.
        ("30 2 * * *", datetime(2029, 10, 27, tzinfo=UTC), ["27 00:30", "28 00:30", "29 01:30"]),
        # Where they are put forward over it, right afterwards.
        ("30 2 * * *", datetime(2029, 3, 24, tzinfo=UTC), ["24 01:30", "25 01:00", "26 00:30"]),
        # What counts the hours as they pass comes in each of them.
        ("0 */12 * * *", datetime(2029, 10, 27, 12, tzinfo=UTC), ["27 22:00", "28 11:00", "28 23:00"]),
        # The start itself counts; what lies before the first moment after it does not.
        ("0 0 * * *", datetime(2029, 6, 1, 22, tzinfo=UTC), ["01 22:00", "02 22:00", "03 22:00"]),
        ("0 0 * * *", datetime(2029, 6, 1, 22, 0, 1, tzinfo=UTC), ["02 22:00", "03 22:00", "04 22:00"]),
    ],
)
async def test_a_cron_line_launches_a_run_for_each_of_its_moments(
    town: Town, expression: str, start: datetime, expected: list[str]
) -> None:
    arguments = {"expression": expression, "timezone": "Europe/Berlin", "trigger": True}
    schedule = SchedulePlan(kind="cron", arguments=arguments)
    await scheduled(town, dag("d", task("a"), schedule=schedule, start_date=start, catchup=True))
    for _ in range(3):
        await town.rounds.go()
    rows = await town.connection.fetch(
        "select logical_date, data_interval_start, data_interval_end, run_id from dag_run order by 1 limit 3"
    )
    assert [row["logical_date"].strftime("%d %H:%M") for row in rows] == expected
    assert all(len({row["logical_date"], row["data_interval_start"], row["data_interval_end"]}) == 1 for row in rows)
    assert rows[0]["run_id"] == f"scheduled__{rows[0]['logical_date'].isoformat()}"


async def test_a_cron_line_without_catchup_runs_at_its_next_moment_and_not_before(town: Town) -> None:
    schedule = SchedulePlan(kind="cron", arguments={"expression": "0 13 * * *", "trigger": True})
    start = datetime(2029, 1, 1, tzinfo=UTC)
    await scheduled(town, dag("d", task("a"), schedule=schedule, start_date=start))
    await town.play()
    # The latest one that was missed.
    assert await dates(town) == [NOW - timedelta(hours=23)]
    assert await town.rounds.go() == timedelta(hours=1)
    await town.pass_time(timedelta(hours=1) - SEC)
    await town.play()
    assert len(await dates(town)) == 1
    await town.pass_time(SEC)
    await town.play()
    assert await dates(town) == [NOW - timedelta(hours=23), NOW + timedelta(hours=1)]
