"""Random values of every kind the codec knows, and a picture of a value that shows each difference."""

import math
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from importlib import import_module
from uuid import UUID
from zoneinfo import ZoneInfo

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import astuple

from bide.model.codec import Codec, Registry


class Colour(Enum):
    RED = 1
    GREEN = "green"
    CRIMSON = 1  # noqa: PIE796


class Level(IntEnum):
    LOW = 1
    HIGH = 10


class Mode(StrEnum):
    FAST = "fast"


class Rights(Flag):
    READ = 1
    WRITE = 2


@dataclass
class Job:
    name: str
    options: object = None
    seen: int = field(init=False, default=7)

    class Nested(Enum):
        ONLY = object()


@dataclass(frozen=True, slots=True)
class Point:
    x: object
    y: object = 0.0


class Message(Struct):
    body: object
    tags: object = None


class Cell(Struct, frozen=True, kw_only=True, array_like=True):
    row: object


class Money:
    def __init__(self, amount: object) -> None:
        self.amount = amount


REGISTRY = Registry()
REGISTRY.register(Money, "acme.Money", lambda money: [money.amount], lambda data: Money(*data))


def resolve(name: str) -> object:
    """Find a class as a child does, which has the user's code."""
    module, _, path = name.partition(":")
    found: object = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


CHILD = Codec(resolve, REGISTRY)
SERVICE = Codec(registry=Registry())

ODD_TEXT = st.text(st.sampled_from('$"\\{}[]:,\0\x1f\x7fné\u2028\ud800\udfff\U0001f600'), max_size=12)
TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=20) | ODD_TEXT
DELTAS = st.timedeltas(timedelta(hours=-23), timedelta(hours=23))
OFFSETS = st.builds(timezone, DELTAS) | st.builds(timezone, DELTAS, TEXTS)
ZONES = st.none() | OFFSETS | st.timezones() | st.just(UTC)
FOLDS = st.integers(0, 1)
NUMBERS = (
    st.integers()
    | st.floats()
    | st.integers(-(2**2000), 2**2000)
    | st.sampled_from([2**63, 2**63 - 1, -(2**63), -(2**63) - 1, 2**64, 2**53 + 1])
    | st.just(5000).map(lambda digits: 10**digits)
    | st.sampled_from([-0.0, math.nan, math.inf, 5e-324, 1e16, 1e22, 0.1])
)
DECIMALS = st.decimals(allow_nan=False) | st.sampled_from(
    [Decimal(text) for text in ("-0", "NaN", "NaN123", "-Infinity", "1E+5", "1E-999999", "0E+7", "0.10")]
)
MOMENTS = (
    st.builds(lambda moment, zone, fold: moment.replace(tzinfo=zone, fold=fold), st.datetimes(), ZONES, FOLDS)
    | st.builds(lambda moment, zone, fold: moment.replace(tzinfo=zone, fold=fold), st.times(), ZONES, FOLDS)
    | st.dates()
    | st.timedeltas()
    | st.timezones()
    | OFFSETS
)
MEMBERS = st.sampled_from([*Colour, *Level, *Mode, *Job.Nested, *Rights, Rights(0), Rights.READ | Rights.WRITE])
SIMPLE = st.none() | st.booleans() | NUMBERS | TEXTS
SCALARS = SIMPLE | MOMENTS | DECIMALS | st.binary(max_size=30) | st.uuids() | MEMBERS
HASHABLE = st.recursive(
    SCALARS,
    lambda inner: (
        st.tuples(inner, inner)
        | st.frozensets(inner, max_size=3)
        | st.builds(Point, inner, inner)
        | st.builds(Cell, row=inner)
    ),
    max_leaves=4,
)
VALUES = st.recursive(
    SCALARS | st.just(Decimal("sNaN")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(TEXTS, inner, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.sets(HASHABLE, max_size=3)
        | st.builds(Job, TEXTS, inner)
        | st.builds(Point, inner)
        | st.builds(Message, inner, inner)
        | st.builds(Money, inner)
    ),
    max_leaves=8,
)


def picture(value: object) -> object:
    """Show everything that must come back: types, zones, folds, signs of zeros, the order of keys."""
    return type(value).__name__, type(value).__module__, _content(value)


def _content(value: object) -> object:
    match value:
        case int() if type(value) is int:
            return hex(value)  # Python writes no more than 4300 digits
        case bool() | int() | str() | bytes() | UUID() | None | Enum():
            return value
        case float():
            return repr(value)
        case Decimal():
            return value.as_tuple()
        case datetime() | time():
            return value.replace(tzinfo=None).isoformat(), value.fold, picture(value.tzinfo)
        case date() | timedelta():
            return value
        case ZoneInfo():
            return value.key
        case timezone():
            return value.utcoffset(None), value.tzname(None)
        case list() | tuple():
            return [picture(item) for item in value]
        case dict():
            return [(picture(key), picture(item)) for key, item in value.items()]
        case set() | frozenset():
            return sorted((picture(item) for item in value), key=repr)
        case Struct():
            return picture(astuple(value))
        case Money():
            return picture(value.amount)
    assert is_dataclass(value), f"no picture of {value!r}"
    return [picture(getattr(value, item.name)) for item in fields(value)]
