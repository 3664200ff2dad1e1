"""From a value to the tree that JSON can hold. One writer writes one value."""

from math import isfinite
from typing import Any

import msgspec

from bide.errors import CodecError
from bide.model.codec import classes
from bide.model.codec.builtin import BUILTIN
from bide.model.codec.entry import ANY_DATA, Entry, Unstorable
from bide.model.codec.limits import MAX_DEPTH, check_before_reading
from bide.model.codec.opaque import Opaque
from bide.model.codec.refusals import why_not
from bide.model.codec.registry import Registry
from bide.model.codec.text import TAG, VALUE, is_safe, write_key

_LONGEST_KEY = 60
_LEAST_INT, _MOST_INT = -(2**63), 2**63 - 1


class Writer:
    """Writes what is left of the room, and stops where it ends: a value that is too large is never built whole."""

    def __init__(self, registry: Registry, room: int) -> None:
        self._registry = registry
        self._whole_room = self._room = room
        self._entries: dict[type, Entry | None] = {}

    def tree(self, value: Any, depth: int = MAX_DEPTH) -> object:
        """Write a value whose text may open so many brackets."""
        kind = type(value)
        try:
            if kind is str:
                self._take(len(value))
                if is_safe(value):
                    return value
                self._room += len(value)  # its escapes take what they need
            elif kind is bool or value is None:
                return value
            elif kind is int:
                if _LEAST_INT <= value <= _MOST_INT:
                    return value
            elif kind is float:
                if isfinite(value):
                    return value
            elif kind is list:
                return self._items(value, depth)
            elif kind is dict and all(type(key) is str for key in value):
                return self._object(value, depth)
            return self._tagged(value, kind, depth)
        except Unstorable as found:
            found.passed.append(id(value))
            raise

    def _take(self, size: int) -> None:
        self._need(size)
        self._room -= size

    def _need(self, size: int) -> None:
        if size > self._room:
            raise Unstorable(f"is where more than {self._whole_room:,} bytes are reached, the most that are stored.")

    def _enter(self, items: int, depth: int) -> int:
        if depth <= 0:
            raise Unstorable(f"is nested too deeply: the text would open more than {MAX_DEPTH} brackets.")
        self._take(2 * items + 1)
        return depth - 1

    def _items(self, items: Any, depth: int) -> list[object]:
        depth = self._enter(len(items), depth)
        written: list[object] = []
        try:
            for item in items:
                written.append(self.tree(item, depth))
        except Unstorable as found:
            found.steps.append(f"[{len(written)}]")
            raise
        return written

    def _object(self, items: dict[str, object], depth: int) -> dict[str, object]:
        depth = self._enter(len(items), depth)
        written = {}
        key = ""
        try:
            for key, item in items.items():
                self._take(len(key))
                written[write_key(key)] = self.tree(item, depth)
        except Unstorable as found:
            found.steps.append(_subscript(key))
            raise
        return written

    def _tagged(self, value: Any, kind: type, depth: int) -> dict[str, object]:
        if kind is Opaque:
            return self._opaque(value)
        entry = BUILTIN.get(kind) or self._entry_of(kind)
        if entry is None:
            raise Unstorable(why_not(value))
        self._need(entry.least(value))
        depth = self._enter(1, depth)
        if kind is set or kind is frozenset:
            data: object = self._members(value, depth)
        elif kind is dict:
            data = self._pairs(value, depth)
        elif kind is tuple:
            data = self._items(value, depth)
        else:
            data = self._simpler(entry, value, depth)
        return {TAG: entry.name, VALUE: data}

    def _members(self, members: Any, depth: int) -> list[object]:
        depth = self._enter(len(members), depth)
        try:
            return sorted((self.tree(member, depth) for member in members), key=msgspec.json.encode)
        except Unstorable as found:
            found.steps.append("{…}")
            raise

    def _pairs(self, items: dict[object, object], depth: int) -> list[object]:
        depth = self._enter(len(items), self._enter(len(items), depth))
        written: list[object] = []
        step = ""
        try:
            for key, item in items.items():
                step = f".keys()[{len(written)}]"
                written_key = self.tree(key, depth)
                step = _subscript(key)
                written.append([written_key, self.tree(item, depth)])
        except Unstorable as found:
            found.steps.append(step)
            raise
        return written

    def _simpler(self, entry: Entry, value: object, depth: int) -> object:
        try:
            data: Any = entry.encode(value)
        except (Unstorable, RecursionError):
            raise
        except Exception as error:
            raise Unstorable(f"cannot be stored: encoding it raised {type(error).__name__}.") from error
        step = ""
        try:
            if type(data) is not dict or entry.data is ANY_DATA:
                return self.tree(data, depth)
            depth = self._enter(len(data), depth)
            written = {}
            for name, item in data.items():
                step = f".{name}"
                written[write_key(name)] = self.tree(item, depth)
        except Unstorable as found:
            found.steps.append(step)
            raise
        return written

    def _opaque(self, value: Opaque) -> dict[str, object]:
        # It is read again, so that whoever makes one by hand cannot make a text that is no JSON.
        try:
            check_before_reading(value.text, self._whole_room)
            return {TAG: value.name, VALUE: msgspec.json.decode(value.text)}
        except (CodecError, msgspec.MsgspecError) as error:
            raise Unstorable("is an Opaque that no codec has made.") from error

    def _entry_of(self, kind: type) -> Entry | None:
        if kind not in self._entries:
            self._entries[kind] = self._registry.of_class(kind) or classes.entry_of(kind)
        return self._entries[kind]


def _subscript(key: object) -> str:
    # Neither long keys, nor those whose words would be the user's own code.
    if (type(key) is str and len(key) <= _LONGEST_KEY) or (type(key) is int and abs(key) < _MOST_INT):
        return f"[{key!r}]"
    if type(key) is str:
        return f"[{key[:_LONGEST_KEY]!r}…]"
    return f"[a key of type {type(key).__qualname__}]"
