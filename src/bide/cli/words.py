"""How values are written for people, in one place: moments, durations, sizes, states, and texts of others."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from rich.text import Text

NOTHING = ""

_UNITS = (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))
_SIZES = ("B", "kB", "MB", "GB", "TB")
# Colours that people know; the word always stands beside them.
_STYLES = {
    "success": "green",
    "failed": "red",
    "upstream_failed": "dark_orange",
    "running": "bright_green",
    "queued": "grey62",
    "scheduled": "tan",
    "deferred": "medium_purple",
    "up_for_retry": "gold1",
    "up_for_reschedule": "turquoise2",
    "restarting": "violet",
    "shutdown": "blue",
    "skipped": "hot_pink",
    "removed": "dim",
    "none": "dim",
    "ok": "green",
    "warn": "yellow",
    "fail": "red",
}


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


def size(number: int | None) -> str:
    """Write a number of bytes: 12.3 MB."""
    if number is None:
        return NOTHING
    amount, place = float(number), 0
    while amount >= 999.5 and place < len(_SIZES) - 1:
        amount, place = amount / 1000, place + 1
    return f"{amount:.0f} {_SIZES[place]}" if amount >= 99.5 or place == 0 else f"{amount:.1f} {_SIZES[place]}"


def state(name: str | None) -> Text:
    """Write a state in its colour."""
    return Text(name or NOTHING, _STYLES.get(name or "", ""))


def states(counted: Iterable[tuple[str, int]]) -> Text:
    """Write how many of something are in which states: 3 success, 1 running."""
    parts = [Text.assemble(f"{number:,} ", state(name)) for name, number in counted]
    return Text(", ").join(parts)


def count(number: int, one: str, many: str = "") -> str:
    """Write a number of things: 1 task, 2,000 tasks."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def plain(said: str | None) -> str:
    """Write what somebody else has said, without what would move the cursor or change the colours."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "\ufffd" for sign in said or NOTHING)


def shortened(said: str | None, longest: int = 80) -> str:
    """Write the beginning of what somebody else has said on one line."""
    line = " ".join(plain(said).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def yes(is_so: bool) -> str:
    """Write whether something is so."""
    return "yes" if is_so else "no"
