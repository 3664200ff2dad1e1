"""Checks of single arguments: each returns the value as the engine keeps it, or says in a sentence what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from bide.authoring.place import kind_of, near

Check = Callable[[str, Any], Any]
Choice = TypeVar("Choice", bound=StrEnum)


class Wrong(Exception):
    """An argument is not what it must be; told without a place, which the caller adds."""


def whole(least: int) -> Check:
    """Make a check for whole numbers."""

    def check(name: str, given: Any) -> int:
        if isinstance(given, bool) or not isinstance(given, int):
            raise Wrong(f"{name} is {kind_of(given)}; it must be a whole number.")
        if given < least:
            raise Wrong(f"{name} is {given}; it must be {least} or more.")
        return given

    return check


def yes_or_no(name: str, given: Any) -> bool:
    """Take True and False, and nothing that only looks like one of them."""
    if not isinstance(given, bool):
        raise Wrong(f"{name} is {kind_of(given)}; it must be True or False.")
    return given


def text(name: str, given: Any) -> str:
    """Take a text."""
    if not isinstance(given, str):
        raise Wrong(f"{name} is {kind_of(given)}; it must be a text.")
    return given


def texts(name: str, given: Any) -> list[str]:
    """Take one text or several."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Collection) or not all(isinstance(item, str) for item in given):
        raise Wrong(f"{name} must be a list of texts.")
    return list(given)


def duration(name: str, given: Any) -> timedelta:
    """Take a timedelta, or a number of seconds."""
    if isinstance(given, timedelta):
        return given
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise Wrong(f"{name} is {kind_of(given)}; it must be a timedelta, or a number of seconds.")
    try:
        return timedelta(seconds=given)
    except (ValueError, OverflowError):
        raise Wrong(f"{name} is {given}; that is no length of time.") from None


def moment(name: str, given: Any) -> datetime:
    """Take a date; one without a time zone is one of UTC."""
    if not isinstance(given, datetime):
        raise Wrong(
            f'{name} is {kind_of(given)}; it must be a datetime, such as pendulum.datetime(2026, 1, 31, tz="UTC").'
        )
    return given.replace(tzinfo=UTC) if given.utcoffset() is None else given


def choice(kind: type[Choice]) -> Check:
    """Make a check for one of several words."""

    def check(name: str, given: Any) -> Choice:
        try:
            return kind(given)
        except ValueError:
            raise Wrong(f"{name} {given!r} is unknown{near(given, kind)}") from None

    return check


def function(name: str, given: Any) -> Any:
    """Take something that can be called."""
    if not callable(given):
        raise Wrong(f"{name} is {kind_of(given)}; it must be a function.")
    return given


def functions(name: str, given: Any) -> list[Callable[..., object]]:
    """Take one function, or a list of them."""
    listed = list(given) if isinstance(given, list | tuple) else [given]
    for item in listed:
        function(name, item)
    return listed


def listed(name: str, given: Any) -> list[Any]:
    """Take a list, or a single thing as a list of one."""
    return list(given) if isinstance(given, list | tuple | set | frozenset) else [given]


def a_dict(name: str, given: Any) -> dict[str, Any]:
    """Take a dict with texts as its keys; None is an empty one."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise Wrong(f"{name} is {kind_of(given)}; it must be a dict with texts as its keys.")
    return dict(given)


def anything(name: str, given: Any) -> Any:
    """Take it as it is."""
    return given


def or_none(check: Check) -> Check:
    """Make a check that also takes None."""
    return lambda name, given: None if given is None else check(name, given)


def only_unset(why: str) -> Check:
    """Make a check for an argument that Airflow has and Bide has not: it may only ask for nothing."""

    def check(name: str, given: Any) -> None:
        if given:
            raise Wrong(f"{name} cannot be used: {why}")

    return check
