"""Types of users that are stored under a name of their choice."""

from collections.abc import Callable
from typing import Any, TypeVar

from bide.errors import CodecError
from bide.model.codec.entry import Entry
from bide.model.codec.text import is_safe

T = TypeVar("T")


class Registry:
    """Which class is stored under which name, and how."""

    def __init__(self) -> None:
        self._by_class: dict[type, Entry] = {}
        self._class_by_name: dict[str, type] = {}

    def register(self, cls: type[T], name: str, encode: Callable[[T], object], decode: Callable[[Any], T]) -> None:
        """Store instances of exactly `cls`: `encode` turns them into storable values, `decode` makes them again.

        The name is stored with every value, so it must not change. It holds a dot, as in "acme.Money".
        """
        if not is_class_name(name) or ":" in name:
            raise CodecError(f"{name!r} cannot name a type; choose a name with a dot, such as 'acme.Money'.")
        before = self._class_by_name.get(name, cls)
        if _path(before) != _path(cls):  # the same path is the same class, loaded anew
            raise CodecError(f"The name {name!r} is taken by {_path(before)}; choose another one for {_path(cls)}.")
        if cls in self._by_class and self._by_class[cls].name != name:
            raise CodecError(f"{_path(cls)} is registered as {self._by_class[cls].name!r} already; keep that name.")
        self._by_class.pop(before, None)
        self._by_class[cls] = Entry(name, encode, decode)
        self._class_by_name[name] = cls

    def of_class(self, cls: type) -> Entry | None:
        """Tell how instances of a class are stored."""
        return self._by_class.get(cls)

    def of_name(self, name: str) -> Entry | None:
        """Tell which type a stored name means."""
        cls = self._class_by_name.get(name)
        return None if cls is None else self._by_class[cls]


def is_class_name(name: str) -> bool:
    """Tell names of users' types from our own tags, which have neither a dot nor a colon."""
    return ("." in name or ":" in name) and is_safe(name)


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


REGISTERED = Registry()
"""What the code of this process has registered; a service never runs such code, so there it is empty."""

register = REGISTERED.register
