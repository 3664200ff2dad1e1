"""Where in the author's code something was written, and how a mistake there is told."""

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple

from bide.errors import PlanError


class Place(NamedTuple):
    """A line of a file, written so that editors and terminals can jump to it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


NOWHERE = Place("", 0)


def is_ours(module: str) -> bool:
    """Tell the engine's own modules from those of an author."""
    return module == "bide" or module.startswith("bide.")


def here() -> Place:
    """Find the line of the author's code that is being run."""
    frame = sys._getframe(1)
    while is_ours(frame.f_globals.get("__name__", "")):
        if frame.f_back is None:
            return NOWHERE
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)


def mistake(sentence: str, place: Place | None = None) -> PlanError:
    """Word a mistake of the author, with its place; by default that is the line which is being run."""
    place = place or here()
    return PlanError(sentence if place == NOWHERE else f"{place}: {sentence}")


def near(given: object, known: Iterable[str]) -> str:
    """End a sentence with the known name that was probably meant, if there is one."""
    found = get_close_matches(str(given), list(known), n=1)
    return f"; did you mean {str(found[0])!r}?" if found else "."


def kind_of(value: object) -> str:
    """Name the kind of a value that does not fit: values themselves may be long, or secret."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
