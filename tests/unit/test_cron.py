"""A cron expression comes round at the right moments, wherever clocks are put forward and back."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bide.errors import PlanError
from bide.model.cron import Cron
from bide.model.zone import zone_of

MINUTE = timedelta(minutes=1)
# A day or two before the clocks change: forward and back.
CHANGES = {
    "Europe/Berlin": ("2024-03-30T12:00", "2024-10-26T12:00"),
    "America/New_York": ("2024-03-09T12:00", "2024-11-02T12:00"),
    "Australia/Lord_Howe": ("2024-10-05T00:00", "2024-04-06T00:00"),  # by half an hour
    "Africa/Cairo": ("2024-04-25T06:00", "2024-10-31T06:00"),  # at midnight
    "Pacific/Apia": ("2011-12-29T12:00", "2011-04-02T00:00"),  # leaves out a whole day
    "UTC": ("2024-03-30T12:00", "2024-10-26T12:00"),
}


def ticks(expression: str, zone: str, since: str, until: str) -> list[str]:
    """List what comes between two readings of a clock, as that clock and its offset read."""
    where = zone_of(zone)
    cron, moment = Cron(expression, where), datetime.fromisoformat(since).replace(tzinfo=where).astimezone(UTC)
    end = datetime.fromisoformat(until).replace(tzinfo=where).astimezone(UTC)
    found = []
    while (moment := cron.after(moment)) <= end:
        found.append(moment.astimezone(where).strftime("%d %H:%M%z")[:-2])
    return found


@pytest.mark.parametrize(
    ("expression", "zone", "since", "until", "expected"),
    [
        # Fixed hours: once for each date. One that is left out comes after the gap, of two equal ones the first counts.
        ("30 2 * * *", "Europe/Berlin", "2024-03-30", "2024-04-02", ["30 02:30+01", "31 03:00+02", "01 02:30+02"]),
        ("30 2 * * *", "Europe/Berlin", "2024-10-26", "2024-10-29", ["26 02:30+02", "27 02:30+02", "28 02:30+01"]),
        ("0 0 * * *", "Europe/Berlin", "2024-03-30T12", "2024-04-01T12", ["31 00:00+01", "01 00:00+02"]),
        ("0,30 2,3 * * *", "Europe/Berlin", "2024-03-31", "2024-04-01", ["31 03:00+02", "31 03:30+02"]),
        (
            "0,30 1-3 * * *", "America/New_York", "2024-11-03", "2024-11-03T02:15",
            ["03 01:00-04", "03 01:30-04", "03 02:00-05"],
        ),
        ("15 2 * * *", "Australia/Lord_Howe", "2024-10-05T12", "2024-10-07T12", ["06 02:30+11", "07 02:15+11"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2024-04-06T12", "2024-04-08T12", ["07 01:45+11", "08 01:45+10"]),
        ("0 0 * * *", "Africa/Cairo", "2024-04-25T12", "2024-04-27T12", ["26 01:00+03", "27 00:00+03"]),
        ("0 9 * * *", "Pacific/Apia", "2011-12-29", "2012-01-01", ["29 09:00-10", "31 00:00+14", "31 09:00+14"]),
        # Any hour: whenever the clock reads so.
        ("0 * * * *", "Europe/Berlin", "2024-03-31", "2024-03-31T04:30", ["31 01:00+01", "31 03:00+02", "31 04:00+02"]),
        (
            "0 * * * *", "Europe/Berlin", "2024-10-27", "2024-10-27T03:30",
            ["27 01:00+02", "27 02:00+02", "27 02:00+01", "27 03:00+01"],
        ),
        (
            "30 * * * *", "Australia/Lord_Howe", "2024-10-06T01", "2024-10-06T04",
            ["06 01:30+10", "06 02:30+11", "06 03:30+11"],
        ),
        (
            "30 * * * *", "Australia/Lord_Howe", "2024-04-07T01", "2024-04-07T03",
            ["07 01:30+11", "07 01:30+10", "07 02:30+10"],
        ),
        (
            "*/30 1 * * *", "America/New_York", "2024-11-03", "2024-11-04",
            ["03 01:00-04", "03 01:30-04", "03 01:00-05", "03 01:30-05"],
        ),
        # Days that are not in every month or year, and days of the week.
        ("0 0 29 2 *", "UTC", "2023-01-01", "2029-01-01", ["29 00:00+00", "29 00:00+00"]),
        ("0 0 31 * *", "UTC", "2024-01-01", "2024-06-30", ["31 00:00+00"] * 3),
        ("0 0 L * *", "UTC", "2024-01-01", "2024-04-15", ["31 00:00+00", "29 00:00+00", "31 00:00+00"]),
        ("0 6 * * MON-FRI", "UTC", "2024-03-01T12", "2024-03-05T12", ["04 06:00+00", "05 06:00+00"]),
        ("0 6 * * 7", "UTC", "2024-03-01", "2024-03-12", ["03 06:00+00", "10 06:00+00"]),
        ("0 6 13 * FRI", "UTC", "2024-03-12", "2024-03-16", ["13 06:00+00", "15 06:00+00"]),
        ("0 6 * * *", "+05:30", "2024-03-12", "2024-03-13", ["12 06:00+05"]),
    ],
)  # fmt: skip
def test_it_comes_when_it_should(expression: str, zone: str, since: str, until: str, expected: list[str]) -> None:
    assert ticks(expression, zone, since, until) == expected


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "has 0 fields"),
        ("* * * *", "has 4 fields"),
        ("0 * * * * *", "has 6 fields"),
        ("60 * * * *", "bad minute"),
        ("* 24 * * *", "bad hour"),
        ("0 0 0 * *", "bad day-of-month"),
        ("0 0 30 2 *", "bad day-of-month"),
        ("0 0 * 13 *", "bad month"),
        ("0 0 * * 1#6", "bad day-of-week"),
        ("*/0 * * * *", "bad minute"),
        ("5-1 * * * *", "bad minute"),
        ("0 0 * * L/2", "bad day-of-week"),
        ("0 0 LW/2,L/3-1 * *", "bad day-of-month"),
        ("@dayly", "has 1 fields"),
        ("\u0663 * * * *", "bad minute"),
        ("0 0 * * * " + "\n" * 300, "5 fields"),
    ],
)
def test_an_expression_that_makes_no_sense_is_refused(expression: str, said: str) -> None:
    with pytest.raises(PlanError, match=f"cannot be used: .*{said}.* Write 5 fields"):
        Cron(expression, UTC)


@pytest.mark.parametrize("expression", ["0 0 */29 2 1#5", "0 0 */31 * 0#2"])
def test_what_never_comes_is_told_soon(expression: str) -> None:
    cron = Cron(expression, UTC)
    with pytest.raises(OverflowError):
        cron.after(datetime(2024, 1, 1, tzinfo=UTC))
    with pytest.raises(OverflowError):
        cron.before(datetime(2024, 1, 1, tzinfo=UTC))


def test_the_ends_of_the_calendar_are_ends() -> None:
    cron = Cron("0 0 1 1 *", zone_of("Europe/Berlin"))
    with pytest.raises(OverflowError):
        cron.after(datetime(9999, 12, 31, tzinfo=UTC))
    with pytest.raises(OverflowError):
        cron.before(datetime(1, 1, 1, 12, tzinfo=UTC))


def readings(minutes: set[int], hours: set[int], since: datetime, until: datetime) -> Iterator[datetime]:
    while since < until:
        if since.minute in minutes and since.hour in hours:
            yield since
        since += MINUTE


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, set[int], set[int], bool, datetime]:
    """An expression with what it means, a zone, and a moment near a change of its clocks."""
    zone = draw(st.sampled_from(sorted(CHANGES)))
    near = datetime.fromisoformat(draw(st.sampled_from(CHANGES[zone]))).replace(tzinfo=UTC)
    moment = near + timedelta(minutes=draw(st.integers(0, 2880)), seconds=draw(st.sampled_from([0, 1, 59])))
    minutes = draw(st.sets(st.integers(0, 59), min_size=1, max_size=4) | st.just(set(range(60))))
    hours = draw(st.sets(st.integers(0, 23), min_size=1, max_size=4) | st.just(set(range(24))))
    any_time = len(minutes) == 60 or len(hours) == 24
    fields = ["*" if len(f) == n else ",".join(map(str, f)) for f, n in ((minutes, 60), (hours, 24))]
    return " ".join([*fields, "* * *"]), zone, minutes, hours, any_time, moment


@settings(deadline=None, max_examples=30)
@given(cases())
def test_it_agrees_with_looking_at_every_minute(
    case: tuple[str, str, set[int], set[int], bool, datetime],
) -> None:
    expression, zone, minutes, hours, any_time, moment = case
    where, half_a_day = zone_of(zone), timedelta(hours=12)
    every = [moment.replace(second=0) + n * MINUTE for n in range(-2200, 2200)]
    walls = [time.astimezone(where).replace(tzinfo=None, fold=0) for time in every]
    if any_time:
        expected = [
            time for time, wall in zip(every, walls, strict=True) if wall.minute in minutes and wall.hour in hours
        ]
    else:
        # For each date on the wall the first moment at which the clock reads that or, for the first time, more.
        wanted = iter(list(readings(minutes, hours, walls[0] + MINUTE, walls[-1])))
        expected, due = [], next(wanted)
        for time, wall in zip(every, walls, strict=True):
            if wall >= due:
                expected.append(time)
                due = next((reading for reading in wanted if reading > wall), datetime.max)
    cron = Cron(expression, where)
    inner = [time for time in expected if abs(time - moment) < half_a_day]
    for this, after in pairwise(inner):
        assert cron.after(this) == after
        assert cron.before(after) == this
    assert cron.after(moment) == min(time for time in expected if time > moment)
    assert cron.before(moment) == max(time for time in expected if time < moment)
