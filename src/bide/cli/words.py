"""How values are written for people, in one place: moments, durations, sizes, states, and texts of others."""

from collections.abc import Iterable

from rich.text import Text

from bide.model.wording import NOTHING
from bide.model.wording import count as count
from bide.model.wording import duration as duration
from bide.model.wording import moment as moment

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


def plain(said: str | None) -> str:
    """Write what somebody else has said, without what would move the cursor or change the colours."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "\ufffd" for sign in said or NOTHING)


def shortened(said: str | None, longest: int = 80) -> str:
    """Write the beginning of what somebody else has said on one line."""
    line = " ".join(plain(said).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def seconds(took: float) -> str:
    """Write a time that computers need: 1.5s, 20ms, 0.3ms, 40µs."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if took >= size:
            return f"{took / size:.3g}{unit}"
    return f"{took * 1e6:.0f}µs"


def yes(is_so: bool) -> str:
    """Write whether something is so."""
    return "yes" if is_so else "no"
