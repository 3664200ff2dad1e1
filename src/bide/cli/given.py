"""What people write behind a command: moments, JSON, states, patterns; and the options that many commands share."""

import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from bide.cli import completing
from bide.control.known import unknown
from bide.errors import Refusal

_DURATION = re.compile(r"(?:(?P<days>\d+)d)?(?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m)?(?:(?P<seconds>\d+)s)?")

LARGEST = 2**31 - 1
"""What a number in the database can hold."""

DagId = Annotated[str, typer.Argument(metavar="DAG", help="The id of a DAG.", autocompletion=completing.dags)]
RunId = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="The id of a run; `latest` means the newest one.", autocompletion=completing.runs
    ),
]
TaskId = Annotated[
    str, typer.Argument(metavar="TASK", help="The id of a task, with its groups.", autocompletion=completing.tasks)
]
MapIndex = Annotated[
    int | None, typer.Option("--map-index", min=0, max=LARGEST, help="Which instance of a mapped task.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many lines.")]


def moment(text: str) -> datetime:
    """Read a moment; one without a zone is in UTC."""
    try:
        read = datetime.fromisoformat(text)
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is no date; write 2030-01-31, 2030-01-31T12:00 or 2030-01-31T12:00+02:00."
        ) from None


def duration(text: str) -> timedelta:
    """Read a duration such as 90s, 30m, 1h30m or 2d."""
    parts = _DURATION.fullmatch(text.strip())
    if not text.strip() or parts is None:
        raise typer.BadParameter(f"{text!r} is no duration; write 90s, 30m, 1h30m or 2d.")
    try:
        return timedelta(**{unit: float(number) for unit, number in parts.groupdict().items() if number})
    except OverflowError:
        raise typer.BadParameter(f"{text!r} is too long.") from None


def text_or_file(given: str) -> str:
    """Read what was given, or the file that it names behind an @, or for - what comes in."""
    try:
        if given == "-":
            return sys.stdin.read()
        if given.startswith("@"):
            return Path(given[1:]).read_text(encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{given[1:]} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{given.removeprefix('@')} is not UTF-8 text.") from None
    return given


def json_object(text: str, what: str) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise typer.BadParameter(f"{what} is no JSON: {error}.") from None
    if not isinstance(found, dict):
        raise typer.BadParameter(f'{what} must be a JSON object, such as {{"day": "2030-01-31"}}.')
    return found


def matching(patterns: Iterable[str], names: Iterable[str], what: str, otherwise: str) -> list[str]:
    """Find the names that are meant; a pattern such as etl_* may mean many, and has to mean one at least."""
    known, found = list(names), dict[str, None]()
    for pattern in patterns:
        meant = [name for name in known if name == pattern or fnmatchcase(name, pattern)]
        if not meant and is_pattern(pattern):
            raise Refusal(f"No {what} matches {pattern!r}; {otherwise}")
        if not meant:
            raise unknown(what, pattern, known, otherwise)
        found.update(dict.fromkeys(meant))
    return list(found)


def is_pattern(text: str) -> bool:
    """Say whether a text may mean many names."""
    return any(sign in text for sign in "*?[")
