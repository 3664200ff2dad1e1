"""The types of pendulum, for those who have it: this module never imports it, so that nobody else needs it."""

from datetime import date, datetime, time, timedelta
from typing import Any

from bide.model.codec import moments
from bide.model.codec.entry import Entry

_read_datetime: Any = moments.reads(datetime)
_read_time: Any = moments.reads(time)


def entry_of(cls: Any) -> Entry | None:
    """Tell how instances of a pendulum class are stored. Their names say where pendulum exports them."""
    if not cls.__module__.startswith("pendulum."):
        return None
    name = f"pendulum:{cls.__name__}"
    match cls.__name__:
        case "DateTime":
            return Entry(name, lambda d: moments.write(_plain_datetime(d)), _reads_datetime(cls), (str, dict))
        case "Time":
            return Entry(name, lambda t: moments.write(_plain_time(t)), _reads_time(cls), (str, dict))
        case "Date":
            return Entry(name, date.isoformat, cls.fromisoformat, (str,))
        case "Duration":
            return Entry(name, _duration_parts, lambda data: cls(**data), (dict,))
        case "Interval":
            return Entry(name, _interval_parts, lambda data: cls(**data), (dict,))
        case "Timezone":
            return Entry(name, moments.write_zone, moments.reads_zone(cls), (str,))
        case "FixedTimezone":
            return Entry(name, lambda zone: [zone.offset, zone.name], lambda data: cls(*data), (list,))
    return None


def _plain_datetime(d: datetime) -> datetime:
    return datetime(d.year, d.month, d.day, d.hour, d.minute, d.second, d.microsecond, tzinfo=d.tzinfo, fold=d.fold)


def _plain_time(t: time) -> time:
    return time(t.hour, t.minute, t.second, t.microsecond, tzinfo=t.tzinfo, fold=t.fold)


def _reads_datetime(cls: Any) -> Any:
    def read(data: object) -> object:
        d = _read_datetime(data)
        return cls(d.year, d.month, d.day, d.hour, d.minute, d.second, d.microsecond, tzinfo=d.tzinfo, fold=d.fold)

    return read


def _reads_time(cls: Any) -> Any:
    def read(data: object) -> object:
        t = _read_time(data)
        return cls(t.hour, t.minute, t.second, t.microsecond, tzinfo=t.tzinfo, fold=t.fold)

    return read


def _duration_parts(duration: Any) -> dict[str, int]:
    # What `days` shows leaves out years and months; the timedelta underneath holds all of them as days.
    parts: Any = timedelta.__reduce__(duration)
    days, seconds, microseconds = parts[1]
    days -= 365 * duration.years + 30 * duration.months
    return {
        "years": duration.years,
        "months": duration.months,
        "days": days,
        "seconds": seconds,
        "microseconds": microseconds,
    }


def _interval_parts(interval: Any) -> dict[str, object]:
    start, end, absolute = interval.__reduce__()[1]  # in the order in which it was given them
    return {"start": start, "end": end, "absolute": absolute}
