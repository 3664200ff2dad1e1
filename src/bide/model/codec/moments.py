"""Dates with their zones: the wall time, the zone itself and the fold are kept, whatever offset the zone has today."""

import re
from collections.abc import Callable
from datetime import datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from bide.model.codec.entry import NoClassHere, Unstorable
from bide.model.codec.opaque import Opaque

# Names are looked up in folders and packages of zone data; this keeps them there.
_ZONE_NAME = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")


def write(moment: datetime | time) -> object:
    """Write a date or time as ISO text; with its zone and fold beside it where ISO has no words for them."""
    zone = moment.tzinfo
    if not moment.fold and (zone is None or (type(zone) is timezone and _can_be_read_in_iso(zone))):
        return moment.isoformat()
    return {"wall": moment.replace(tzinfo=None, fold=0).isoformat(), "tzinfo": zone, "fold": moment.fold}


def reads(kind: type[datetime] | type[time]) -> Callable[[Any], object]:
    """Make the function that reads what `write` has written."""

    def read(data: Any) -> object:
        if isinstance(data, str):
            return kind.fromisoformat(data)
        if isinstance(data["tzinfo"], Opaque):
            raise NoClassHere
        moment = kind.fromisoformat(data["wall"])
        if moment.tzinfo is not None or len(data) != 3:
            raise ValueError("not a wall time, a zone and a fold")
        return moment.replace(tzinfo=data["tzinfo"], fold=data["fold"])

    return read


def read_delta(data: list[int]) -> timedelta:
    """Read days, seconds and microseconds."""
    if [type(part) for part in data] != [int, int, int]:
        raise ValueError("not three whole numbers")
    return timedelta(*data)


def write_zone(zone: ZoneInfo) -> str:
    """Write a zone as its name in the zone data."""
    try:
        zone.__reduce__()  # refuses a zone that was read from a file of the user's own
    except Exception:
        raise Unstorable("is a time zone that was read from a file. Pass ZoneInfo with the name of the zone.") from None
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


def _can_be_read_in_iso(zone: timezone) -> bool:
    # Python takes an offset of less than a second for none at all.
    return _has_usual_name(zone) and not zone.utcoffset(None).microseconds


def _has_usual_name(zone: timezone) -> bool:
    return zone.tzname(None) == timezone(zone.utcoffset(None)).tzname(None)
