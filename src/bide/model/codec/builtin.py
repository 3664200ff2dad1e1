"""The table of built-in types that JSON lacks."""

import base64
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from bide.model.codec import moments
from bide.model.codec.entry import Entry
from bide.model.codec.text import escape, unescape


def _read_odd_float(data: str) -> float:
    if data not in ("nan", "inf", "-inf"):
        raise ValueError("an everyday number")
    return float(data)  # each nan a new one, as they were: a set may hold several


def _read_int(data: str) -> int:
    number = int(data, 16)
    if hex(number) != data:
        raise ValueError("not hexadecimal")
    return number


def _read_distinct(kind: Callable[[list[object]], set[object] | frozenset[object]]) -> Callable[[list[object]], object]:
    def read(items: list[object]) -> object:
        members = kind(items)
        if len(members) != len(items):
            raise ValueError("a member occurs twice")
        return members

    return read


def _read_pairs(pairs: list[Any]) -> dict[object, object]:
    if any(type(pair) is not list for pair in pairs):
        raise ValueError("not a list of pairs")
    read: dict[object, object] = dict(pairs)
    if len(read) != len(pairs):
        raise ValueError("a key occurs twice")
    return read


BUILTIN: dict[type, Entry] = {
    # str, int, float and dict come here only if JSON cannot hold them; ints in hexadecimal, because Python
    # limits how many decimal digits it converts.
    str: Entry("str", escape, unescape, (str,)),
    int: Entry("int", hex, _read_int, (str,), lambda number: number.bit_length() // 4),
    float: Entry("float", repr, _read_odd_float, (str,)),
    # The writer goes through these four itself, because it knows the path to each item.
    dict: Entry("dict", list, _read_pairs, (list,)),
    tuple: Entry("tuple", list, tuple, (list,)),
    set: Entry("set", list, _read_distinct(set), (list,)),
    frozenset: Entry("frozenset", list, _read_distinct(frozenset), (list,)),
    bytes: Entry(
        "bytes",
        lambda b: base64.b64encode(b).decode("ascii"),
        lambda text: base64.b64decode(text, validate=True),
        (str,),
        len,
    ),
    datetime: Entry("datetime", moments.write, moments.reads(datetime), (str, dict)),
    time: Entry("time", moments.write, moments.reads(time), (str, dict)),
    date: Entry("date", date.isoformat, date.fromisoformat, (str,)),
    timedelta: Entry("timedelta", lambda d: [d.days, d.seconds, d.microseconds], moments.read_delta, (list,)),
    ZoneInfo: Entry("zone", moments.write_zone, moments.reads_zone(ZoneInfo), (str,)),
    timezone: Entry("offset", moments.write_offset, lambda data: timezone(*data), (list,)),
    Decimal: Entry("decimal", str, Decimal, (str,)),
    UUID: Entry("uuid", str, UUID, (str,)),
}

BUILTIN_BY_NAME = {entry.name: entry for entry in BUILTIN.values()}
