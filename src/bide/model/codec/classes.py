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


def entry_of(cls: type) -> Entry | None:
    """Tell how instances of an Enum, a dataclass, a Struct or a pendulum type are stored; None for other classes."""
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
        raise Unstorable("a member that its Enum does not list cannot be stored")
    return member.name


def _dataclass_fields(instance: Any) -> dict[str, object]:
    cls = type(instance)
    state = object.__getstate__(instance)
    in_dict, in_slots = state if isinstance(state, tuple) else (state, None)
    attributes: dict[str, object] = {**(in_dict or {}), **(in_slots or {})}
    names = [field.name for field in dataclasses.fields(cls)]
    odd = sorted(attributes.keys() ^ set(names))
    if odd:
        raise Unstorable(f"{cls.__qualname__} has fields without value or attributes that are no fields: {odd[0]}")
    object.__new__(cls)  # refuses a dataclass that is also, say, a list: its items are in no field
    return {name: attributes[name] for name in names}


def _dataclass_maker(cls: type) -> Callable[[dict[str, object]], object]:
    def make(data: dict[str, object]) -> object:
        _check_names(cls, data, {field.name for field in dataclasses.fields(cls)})
        # Not through __init__: it may compute, and some fields are not among its arguments.
        made = object.__new__(cls)
        for name, value in data.items():
            object.__setattr__(made, name, value)
        return made

    return make


def _struct_fields(instance: Struct) -> dict[str, object]:
    if getattr(instance, "__dict__", None):
        raise Unstorable("a Struct with attributes that are no fields cannot be stored")
    return {name: getattr(instance, name) for name in instance.__struct_fields__}


def _struct_maker(cls: type[Struct]) -> Callable[[dict[str, object]], object]:
    def make(data: dict[str, object]) -> object:
        _check_names(cls, data, set(cls.__struct_fields__))
        made = cls(**data)
        for name, value in data.items():  # whatever __post_init__ has made of them
            force_setattr(made, name, value)
        return made

    return make


def _check_names(cls: type, data: dict[str, object], names: set[str]) -> None:
    if data.keys() != names:
        raise Unstorable(f"the fields of {cls.__qualname__} are not those it had when the value was stored")
