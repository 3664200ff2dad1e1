"""Time zones by their names."""

import re
from datetime import UTC, timedelta, timezone, tzinfo
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from bide.errors import PlanError

_LONGEST = 100
# Names are looked up in folders of zone data; this keeps them there.
_NAME = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")
_OFFSET = re.compile(r"(?:UTC)?([+-])(\d{2}):([0-5]\d)")


@cache
def zone_of(name: str) -> tzinfo:
    """Find a zone by its name, such as Europe/Berlin, UTC or +02:00."""
    if name == "UTC":
        return UTC
    if offset := _OFFSET.fullmatch(name):
        hours, minutes = int(offset[2]), int(offset[3])
        if hours < 24:
            return timezone((1 if offset[1] == "+" else -1) * timedelta(hours=hours, minutes=minutes), name)
    if _NAME.fullmatch(name) and len(name) <= _LONGEST:
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            pass  # not a zone, or a folder of zones
    near = get_close_matches(name[:_LONGEST], sorted(available_timezones()), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "; name one such as 'Europe/Berlin' or '+02:00'."
    raise PlanError(f"There is no time zone {name[:_LONGEST]!r}{hint}")
