"""Dates with their zones: the wall time, the zone itself and the fold are kept, whatever offset the zone has today."""

import re
from collections.abc import Callable
from datetime import datetime, time, timedelta, timezone
from pickle import PicklingError
from typing import Any
from zoneinfo import ZoneInfo

from bide.model.codec.entry import Unstorable
from bide.model.codec.registry import Opaque

# Names are looked up in folders and packages of zone data; this keeps them there.
_ZONE_NAME = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")


def write(moment: datetime | time) -> object:
    """Write a date or time as ISO text; with its zone and fold beside it where ISO has no words for them."""
    zone = moment.tzinfo
    if not moment.fold and (zone is None or (type(zone) is timezone and _has_usual_name(zone))):
        return moment.isoformat()
    return [moment.replace(tzinfo=None, fold=0).isoformat(), zone, moment.fold]


def reads(kind: type[datetime] | type[time]) -> Callable[[Any], object]:
    """Make the function that reads what `write` has written."""

    def read(data: Any) -> object:
        if isinstance(data, str):
            return kind.fromisoformat(data)
        wall, zone, fold = data
        if isinstance(zone, Opaque):  # a zone of a class that this process does not know
            return Opaque(kind.__name__, data)
        moment = kind.fromisoformat(wall)
        if moment.tzinfo is not None:
            raise ValueError("two zones")
        return moment.replace(tzinfo=zone, fold=fold)

    return read


def read_delta(data: list[int]) -> timedelta:
    """Read days, seconds and microseconds."""
    if [type(part) for part in data] != [int, int, int]:
        raise ValueError("not three whole numbers")
    return timedelta(*data)


def write_zone(zone: ZoneInfo) -> str:
    """Write a zone as its name in the zone data."""
    try:
        ZoneInfo.__reduce__(zone)  # refuses a zone that was read from a file of the user's own
    except PicklingError:
        raise Unstorable("a time zone from a file cannot be stored; use ZoneInfo with a name") from None
    return zone.key


def reads_zone(kind: type[ZoneInfo]) -> Callable[[str], ZoneInfo]:
    """Make the function that finds a zone by its name."""

    def read(name: str) -> ZoneInfo:
        if not _ZONE_NAME.fullmatch(name) or len(name) > 100:
            raise ValueError("no name of a zone")
        return kind(name)

    return read


def write_offset(zone: timezone) -> list[object]:
    """Write a fixed offset, with its name if somebody has given it one."""
    offset = zone.utcoffset(None)
    return [offset] if _has_usual_name(zone) else [offset, zone.tzname(None)]


def _has_usual_name(zone: timezone) -> bool:
    return zone.tzname(None) == timezone(zone.utcoffset(None)).tzname(None)
