"""Values as text and back, in a process that runs the author's code and so knows the author's classes."""

import importlib
import sys
from datetime import UTC, datetime
from typing import overload

from bide.errors import CodecError
from bide.exceptions import TaskError
from bide.model.codec import Codec


def find_class(name: str) -> object:
    """Find what "module:Class.Inner" means, importing its module if need be."""
    module, _, path = name.partition(":")
    try:
        found: object = sys.modules.get(module) or importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise CodecError(
            f"The class {path} of a stored value is not found in {module} ({error}). Define it in a module that all "
            "files can import, or pass plain values."
        ) from None
    return found


VALUES = Codec(resolve=find_class)
"""Turns XComs, arguments and the configuration of a run into text and back."""


@overload
def in_utc(date: datetime) -> datetime: ...
@overload
def in_utc(date: None) -> None: ...
def in_utc(date: datetime | None) -> datetime | None:
    """Return a date as the engine takes it: in UTC, and of no library's own type."""
    if date is None:
        return None
    if date.utcoffset() is None:
        raise TaskError(f"{date.isoformat()} has no time zone; say which one is meant.")
    utc = date.astimezone(UTC)
    return datetime(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second, utc.microsecond, UTC)
