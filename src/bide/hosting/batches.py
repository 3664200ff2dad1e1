"""How much is said in one statement: a statement has only so much time, and values may be long."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")

MOST_TEXT_AT_ONCE = 8_000_000
"""Characters."""


def some_of(items: Iterable[Item], most: int, length: Callable[[Item], int]) -> list[Item]:
    """Return the first of these, as many as may be said in one go, but one at least."""
    some: list[Item] = []
    text = 0
    for item in items:
        text += length(item)
        if some and (len(some) >= most or text > MOST_TEXT_AT_ONCE):
            break
        some.append(item)
    return some
