"""How moments, durations and numbers are written in sentences for people, in one place."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

NOTHING = ""

_UNITS = (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))


def moment(at: datetime | None) -> str:
    """Write a moment in UTC, to the second: 2030-01-31 12:00:00Z."""
    return NOTHING if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


def duration(took: timedelta | None) -> str:
    """Write a duration by its two largest units: 1h 5m, 12s, 250ms."""
    if took is None:
        return NOTHING
    if took < timedelta(0):
        return f"-{duration(-took)}"
    if took < timedelta(seconds=1):
        return f"{took / timedelta(milliseconds=1):.0f}ms"
    if took < timedelta(seconds=10):
        return f"{took.total_seconds():.1f}s"
    rest, parts = int(took.total_seconds()), []
    for unit, size in _UNITS:
        number, rest = divmod(rest, size)
        parts.append(f"{number}{unit}" if number else "")
    first = next(place for place, part in enumerate(parts) if part)
    return " ".join(part for part in parts[first : first + 2] if part)


def count(number: int, one: str, many: str = "") -> str:
    """Write a number of things: 1 task, 2,000 tasks."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Write a list of names, of a long one the beginning: a, b and c; a, b, c and 7 more."""
    shown, rest = list(names[:most]), len(names) - most
    if rest > 0:
        return f"{', '.join(shown)} and {rest:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
