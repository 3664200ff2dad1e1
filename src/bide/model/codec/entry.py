"""One type that JSON lacks: its tag, and how its values become simpler ones and come back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ANY_DATA = (object,)
_LONGEST_PATH = 300


class NoClassHere(Exception):
    """A value needs a class that this process does not know."""


class Unstorable(Exception):
    """A value cannot be stored, or its stored form is wrong. Gathers its path on its way up from inside."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps: list[str] = []
        self.passed: list[int] = []

    def told(self, called: str) -> str:
        """Word the refusal, with the path from the root, which is called so."""
        steps = self.steps[::-1]
        owners: dict[int, int] = {}
        for depth, owner in enumerate(reversed(self.passed)):
            first = owners.setdefault(owner, depth)
            if first != depth:
                whole = _path(called, steps[:first])
                return f"{_path(called, steps[:depth])} is {whole} again: what contains itself cannot be stored."
        return f"{_path(called, steps)} {self.reason}"


def _path(called: str, steps: list[str]) -> str:
    path = called + "".join(steps)
    return path if len(path) <= _LONGEST_PATH else f"{path[:_LONGEST_PATH]}…"


@dataclass(frozen=True, slots=True)
class Entry:
    """`encode` yields a simpler value, which is encoded in turn; `decode` takes it and is told only legal shapes."""

    name: str
    encode: Callable[[Any], object]
    decode: Callable[[Any], object]
    data: tuple[type, ...] = ANY_DATA
    # At least so many bytes of text, known without writing it.
    least: Callable[[Any], int] = lambda value: 0

    def takes(self, data: object) -> bool:
        """Tell whether stored data has the shape that `decode` expects."""
        return self.data is ANY_DATA or type(data) in self.data
