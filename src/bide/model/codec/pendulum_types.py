"""The types of pendulum, for those who have it: this module never imports it, so that nobody else needs it."""

from datetime import date, datetime, time
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
            return Entry(name, _write_datetime, lambda data: _as(cls, _read_datetime(data)), (str, list))
        case "Time":
            return Entry(name, _write_time, lambda data: _as(cls, _read_time(data)), (str, list))
        case "Date":
            return Entry(name, date.isoformat, lambda data: _as(cls, date.fromisoformat(data)), (str,))
        case "Duration":
            return Entry(name, _duration_parts, lambda data: cls(**data), (dict,))
        case "Timezone":
            return Entry(name, moments.write_zone, moments.reads_zone(cls), (str,))
        case "FixedTimezone":
            return Entry(name, lambda zone: list(zone.__getinitargs__()), lambda data: cls(*data), (list,))
    return None
