"""From the tree of JSON to the value. One reader reads one value."""

from collections.abc import Callable

import msgspec

from bide.errors import CodecError
from bide.model.codec import classes
from bide.model.codec.builtin import BUILTIN_BY_NAME
from bide.model.codec.entry import Entry, NoClassHere
from bide.model.codec.opaque import Opaque
from bide.model.codec.registry import Registry, is_class_name
from bide.model.codec.text import TAG, VALUE, read_key


class Reader:
    """Reads a tree whose depth has been checked."""

    def __init__(self, registry: Registry, resolve: Callable[[str], object] | None) -> None:
        self._registry = registry
        self._resolve = resolve
        self._entries: dict[str, Entry] = {}

    def value(self, node: object) -> object:
        """Read a node of the tree and all below it."""
        if type(node) is list:
            return [self.value(item) for item in node]
        if type(node) is not dict:
            return node
        if TAG in node:
            return self._tagged(node)
        return {self._key(key): self.value(item) for key, item in node.items()}

    def _key(self, key: str) -> str:
        try:
            return read_key(key)
        except ValueError as error:
            raise CodecError(f"A stored key cannot be read: {error}.") from None

    def _tagged(self, node: dict[str, object]) -> object:
        name = node[TAG]
        if type(name) is not str or node.keys() != {TAG, VALUE}:
            raise CodecError("A stored value has a tag that no codec writes.")
        try:
            entry = self._entry_of(name)
            data = self.value(node[VALUE])
            if not entry.takes(data):
                raise CodecError(f"A stored {name} has the wrong shape.")
            return entry.decode(data)
        except NoClassHere:
            return Opaque(name, msgspec.json.encode(node[VALUE]).decode())
        except (CodecError, RecursionError):
            raise
        except Exception as error:  # of the user's own code, or of a built-in type that does not like its data
            raise CodecError(f"A stored {name} cannot be read: {type(error).__name__}: {error}") from error

    def _entry_of(self, name: str) -> Entry:
        entry = BUILTIN_BY_NAME.get(name) or self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = self._registry.of_name(name) or self._of_class(name)
        return entry

    def _of_class(self, name: str) -> Entry:
        if not is_class_name(name):
            raise CodecError(f"A stored value has the tag {name!r}, which no codec writes.")
        if self._resolve is None:
            raise NoClassHere
        if ":" not in name:
            raise CodecError(f"No type is registered as {name!r} here; import the module that registers it.")
        cls = self._resolve(name)
        entry = classes.entry_of(cls) if isinstance(cls, type) else None
        if entry is None:
            raise CodecError(f"{name} is no class whose instances can be stored without being registered.")
        return entry
