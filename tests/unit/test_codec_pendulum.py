"""The types of pendulum come back exactly, where it is installed."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bide.model.codec import Opaque
from tests.unit.codec_values import CHILD, SERVICE

pendulum: Any = pytest.importorskip("pendulum")
BERLIN = pendulum.timezone("Europe/Berlin")
START, END = pendulum.datetime(2024, 1, 31, tz=BERLIN), pendulum.datetime(2024, 3, 1, 5, tz=BERLIN)


def picture(value: Any) -> object:
    match value:
        case pendulum.DateTime() | pendulum.Time():
            zone = value.tzinfo
            return (
                type(value),
                value.replace(tzinfo=None).isoformat(),
                value.fold,
                type(zone),
                str(zone),
                value.tzname(),
            )
        case pendulum.Interval():
            return type(value), picture(value.start), picture(value.end), value.invert, value.in_words(), repr(value)
        case pendulum.Duration():
            parts = (
                value.years,
                value.months,
                value.weeks,
                value.days,
                value.remaining_days,
                value.hours,
                value.minutes,
            )
            return (
                type(value),
                parts,
                value.remaining_seconds,
                value.microseconds,
                value.total_seconds(),
                value.in_words(),
            )
        case pendulum.FixedTimezone():
            return type(value), value.offset, value.name
    return type(value), value


@pytest.mark.parametrize(
    "value",
    [
        START,
        pendulum.datetime(2024, 5, 1, 12, 30, 15, 999_999),
        pendulum.naive(2024, 5, 1),
        pendulum.datetime(2024, 10, 27, 2, 30, tz=BERLIN, fold=0),
        pendulum.datetime(2024, 10, 27, 2, 30, tz=BERLIN, fold=1),
        pendulum.parse("2024-05-01T12:00:00+05:30"),
        pendulum.DateTime(2024, 5, 1, tzinfo=UTC),
        pendulum.DateTime(2024, 5, 1, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
        datetime(2024, 5, 1, tzinfo=BERLIN),
        pendulum.date(2024, 2, 29),
        pendulum.time(1, 2, 3, 4),
        pendulum.Time(1, 2, tzinfo=pendulum.FixedTimezone(3600, "odd")),
        BERLIN,
        pendulum.FixedTimezone(-5400),
        pendulum.duration(years=1, months=-2, weeks=3, days=4, hours=5, minutes=6, seconds=7, microseconds=8),
        pendulum.duration(days=-1, hours=-5),
        pendulum.duration(seconds=1.5),
        pendulum.duration() + timedelta(days=40),
        END - START,
        START - END,
        pendulum.interval(END, START, absolute=True),
        pendulum.interval(START, END, absolute=True),
        pendulum.interval(pendulum.date(2024, 1, 1), pendulum.date(2024, 2, 1)),
    ],
    ids=repr,
)
def test_it_comes_back_exactly_and_a_service_leaves_it_as_it_is(value: object) -> None:
    text = CHILD.encode([value])
    [read] = CHILD.decode(text)
    assert picture(read) == picture(value)
    assert type(SERVICE.decode(text)[0]) is Opaque
    assert SERVICE.encode(SERVICE.decode(text)) == text
