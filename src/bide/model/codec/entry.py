"""One type that JSON lacks: its tag, and how its values become simpler ones and come back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ANY_DATA = (object,)


class Unstorable(Exception):
    """A value cannot be stored, or its stored form is wrong. Gathers its path on the way up."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []


@dataclass(frozen=True)
class Entry:
    """`encode` yields a simpler value, which is encoded in turn; `decode` takes it and is told only legal shapes."""

    name: str
    encode: Callable[[Any], object]
    decode: Callable[[Any], object]
    data: tuple[type, ...] = ANY_DATA

    def takes(self, data: object) -> bool:
        """Tell whether stored data has the shape that `decode` expects."""
        return self.data is ANY_DATA or type(data) in self.data
