"""Classes of users that need no registration, because what makes up their instances is known."""

import dataclasses
import sys
from collections.abc import Callable
from enum import Enum, Flag
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr

from bide.model.codec import pendulum_types
from bide.model.codec.entry import Entry, Unstorable

_CHANGED = "its class had other fields when it was stored"


def has_fields(cls: type) -> bool:
    """Tell whether the class says itself what makes up its instances."""
    return issubclass(cls, Enum | Struct) or dataclasses.is_dataclass(cls)


def entry_of(cls: type) -> Entry | None:
    """Tell how instances of an Enum, a dataclass, a Struct or a pendulum type are stored; None for other classes."""
    if not is_found_by_name(cls):
        return None
    name = f"{cls.__module__}:{cls.__qualname__}"
    if issubclass(cls, Flag):
        return Entry(name, lambda flag: flag.value, cls, (int,))
    if issubclass(cls, Enum):
        return Entry(name, _member_name, cls.__members__.__getitem__, (str,))
    if issubclass(cls, Struct):
        return Entry(name, _struct_fields, _struct_maker(cls), (dict,))
    if dataclasses.is_dataclass(cls):
        return Entry(name, _dataclass_fields, _dataclass_maker(cls), (dict,))
    return pendulum_types.entry_of(cls)


def is_found_by_name(cls: type) -> bool:
    """Tell whether the class can be found again by its module and its name."""
    found: object = sys.modules.get(cls.__module__)
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


def _member_name(member: Enum) -> str:
    if type(member).__members__.get(member.name) is not member:
        raise Unstorable(f"is a member that {type(member).__qualname__} does not list.")
    return member.name


def _dataclass_fields(instance: Any) -> dict[str, object]:
    cls = type(instance)
    state = object.__getstate__(instance)
    in_dict, in_slots = state if isinstance(state, tuple) else (state, None)
    attributes: dict[str, object] = {**(in_dict or {}), **(in_slots or {})}
    odd = _odd_names(cls, attributes)
    if odd:
        raise Unstorable(f"is a {cls.__qualname__} whose attributes are not its fields: see {odd[0]!r}.")
    try:
        object.__new__(cls)
    except TypeError:
        raise Unstorable(f"is a {cls.__qualname__}, which has more to it than its fields. Register it.") from None
    return attributes


def _odd_names(cls: Any, attributes: dict[str, object]) -> list[str]:
    fields = dataclasses.fields(cls)
    # What __init__ does not take and has a default may be an attribute of the class alone.
    needed = {field.name for field in fields if field.init or field.default is dataclasses.MISSING}
    return sorted(needed - attributes.keys() | attributes.keys() - {field.name for field in fields})


def _dataclass_maker(cls: type) -> Callable[[dict[str, object]], object]:
    def make(data: dict[str, object]) -> object:
        if _odd_names(cls, data):
            raise ValueError(_CHANGED)
        # Not through __init__: it may compute, and some fields are not among its arguments.
        made: object = object.__new__(cls)
        for name, value in data.items():
            object.__setattr__(made, name, value)
        return made

    return make


def _struct_fields(instance: Struct) -> dict[str, object]:
    if getattr(instance, "__dict__", None):
        raise Unstorable(f"is a {type(instance).__qualname__} with attributes that are no fields.")
    return {name: getattr(instance, name) for name in instance.__struct_fields__}


def _struct_maker(cls: type[Struct]) -> Callable[[dict[str, object]], object]:
    def make(data: dict[str, object]) -> object:
        if data.keys() != set(cls.__struct_fields__):
            raise ValueError(_CHANGED)
        made = cls(**data)
        for name, value in data.items():  # whatever __post_init__ has made of them
            force_setattr(made, name, value)
        return made

    return make
