"""What cannot come back exactly is refused where its author sees it, with the path to it and with what to do."""

import asyncio
import functools
import io
import math
import socket
import sqlite3
import struct
import threading
import tracemalloc
from collections import Counter, OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from enum import Enum
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import msgspec
import pytest

from bide.errors import CodecError
from bide.model.codec import MAX_DEPTH, Codec, Registry
from tests.unit.codec_values import CHILD, Job, Message, Money, Point

Pair = namedtuple("Pair", "a b")


class Name(str):
    pass


class Handle:
    def __init__(self, conn: object) -> None:
        self.conn = conn


@dataclass
class Host:
    conn: object


@dataclass
class Batch(list):  # type: ignore[type-arg]
    name: str


class Zone(tzinfo):
    def utcoffset(self, moment: datetime | None) -> timedelta:
        return timedelta(0)

    tzname = dst = lambda self, moment: None


def refusal(value: object, codec: Codec = CHILD) -> str:
    with pytest.raises(CodecError) as refused:
        codec.encode(value, "kwargs")
    return str(refused.value)


def test_the_path_leads_to_the_offending_value() -> None:
    with socket.socket() as conn:
        said = refusal({"hosts": [1, 2, 3, Host(conn)]})
    assert said.startswith("kwargs['hosts'][3].conn is a socket.socket, ")
    assert "open it where it is used" in said


BAD = object()


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (BAD, "kwargs is"),
        ([[BAD]], "kwargs[0][0] is"),
        ((0, BAD), "kwargs[1] is"),
        ({"it's": BAD}, """kwargs["it's"] is"""),
        ({1: BAD}, "kwargs[1] is"),
        ({(1,): BAD}, "kwargs[a key of type tuple] is"),
        ({10**5000: BAD}, "kwargs[a key of type int] is"),
        ({"k" * 1000: BAD}, f"kwargs['{'k' * 60}'…] is"),
        ({1: 1, BAD: 1}, "kwargs.keys()[1] is"),
        ({"a": {(1, BAD): 1}}, "kwargs['a'].keys()[0][1] is"),
        ({"a": frozenset([(BAD,)])}, "kwargs['a']{…}[0] is"),
        (Message(1, tags=[BAD]), "kwargs.tags[0] is"),
        (Point(1, Job("a", options=BAD)), "kwargs.y.options is"),
        (Money({"amount": BAD}), "kwargs[0]['amount'] is"),
        (datetime(2024, 1, 1, tzinfo=Zone()), "kwargs.tzinfo is a tests.unit.test_codec_refusals.Zone"),
    ],
)
def test_every_kind_of_step_is_told(value: object, path: str) -> None:
    assert refusal(value).startswith(path)


async def nothing() -> None:
    pass


def numbers() -> Any:
    yield 1


class Local:
    def method(self) -> None:
        pass


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (lambda: 1, "is a lambda"),
        (numbers, "is a function"),
        (Local().method, "is a function"),
        (print, "is a function"),
        (functools.partial(print), "knows nothing"),
        (Local, "is a class"),
        (math, "is a module"),
        (numbers(), "generator"),
        (threading.Lock(), "knows nothing"),
        (Local(), "make it a dataclass, or register it"),
        (Path("a"), "knows nothing"),
        (1j, "knows nothing"),
        (bytearray(b"a"), "knows nothing"),
        (Name("a"), "would come back as a plain str"),
        (Pair(1, 2), "would come back as a plain tuple"),
        (OrderedDict(), "would come back as a plain dict"),
        (defaultdict(list), "would come back as a plain dict"),
        (Counter("a"), "would come back as a plain dict"),
        ({Name("a"): 1}, "would come back as a plain str"),
        (Batch("a"), "more to it than its fields"),
    ],
)
def test_what_would_not_come_back_is_refused_with_advice(value: object, why: str) -> None:
    assert why in refusal(value)


def test_what_is_open_in_this_process_only_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a").open("w") as file, closing(sqlite3.connect(":memory:")) as database:
        for value in (file, database, database.cursor()):
            assert "open in this process only" in refusal({"a": value})


async def test_a_coroutine_and_a_task_are_refused() -> None:
    coroutine = nothing()
    assert "can run only here and once" in refusal(coroutine)
    task = asyncio.create_task(coroutine)
    assert "knows nothing" in refusal(task)
    await task


def test_classes_that_nobody_finds_again_are_refused() -> None:
    @dataclass
    class Hidden:
        a: int

    class HiddenEnum(Enum):
        A = 1

    for value in (Hidden(1), HiddenEnum.A, msgspec.defstruct("Nowhere", ["a"])(1)):
        assert "Define it at the top of a module" in refusal(value)


def test_a_dataclass_with_more_or_less_than_its_fields_is_refused() -> None:
    more, less = Host(1), Host(1)
    more.extra = 1  # type: ignore[attr-defined]
    del less.conn
    assert "see 'extra'" in refusal(more)
    assert "see 'conn'" in refusal(less)


def test_a_zone_from_a_file_of_the_users_own_is_refused() -> None:
    # The shortest file of zone data there is: version 1, one kind of time, which is UTC.
    header = b"TZif" + bytes(16) + struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    zone = ZoneInfo.from_file(io.BytesIO(header + bytes(6) + b"UTC\0"), key="Etc/UTC")
    assert refusal({"at": datetime(2024, 1, 1, tzinfo=zone)}).startswith("kwargs['at'].tzinfo is a time zone that")


def test_secrets_are_not_shown() -> None:
    said = refusal({"password": Name("hunter2"), "more": 1})
    assert "hunter2" not in said
    assert said.startswith("kwargs['password'] is a ")


def test_what_contains_itself_is_refused_and_shown_where_it_does() -> None:
    child: dict[str, object] = {}
    value = {"x": {"children": [child]}}
    child["parent"] = value["x"]
    assert refusal(value) == (
        "kwargs['x']['children'][0]['parent'] is kwargs['x'] again: what contains itself cannot be stored."
    )
    job = Job("a")
    job.options = (job,)
    assert refusal([job]).startswith("kwargs[0].options[0] is kwargs[0] again")


def in_a_set(value: object) -> object:
    return frozenset([value])


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"a": v}, lambda v: (v,), in_a_set, Point, Money])
def test_ten_thousand_levels_are_refused(wrap: Callable[[object], object]) -> None:
    value: object = None
    for _ in range(10_000):
        value = wrap(value)
    said = refusal(value)
    assert f"more than {MAX_DEPTH} brackets" in said
    assert len(said) < 500


@pytest.mark.parametrize(
    "value",
    [
        "a" * 5000,
        "é" * 5000,
        "\n" * 5000,
        "a\0b" + "a" * 5000,
        b"a" * 5000,
        1 << 50_000,
        [[]] * 5000,
        {1: ("é",) * 500},
    ],
    ids=["ascii", "wide", "escaped by JSON", "escaped by us", "bytes", "int", "lists", "nested"],
)
def test_the_limit_is_exact(value: object) -> None:
    text = CHILD.encode(value)
    size = len(text.encode())
    assert Codec(max_size=size).encode(value) == text
    with pytest.raises(CodecError, match=f"{size:,} bytes; at most {size - 1:,} are stored|than {size - 1:,} bytes"):
        Codec(max_size=size - 1).encode(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: bytes(2**30),
        lambda: "a" * 2**28,
        lambda: "é" * 2**27,
        lambda: 1 << 2**31,
        lambda: [None] * 2**25,
        lambda: (None,) * 2**25,
        lambda: {"a": [["a" * 1000] * 1000] * 1000},
        lambda: ["\0" * 1000] * 1_000_000,
        lambda: dict.fromkeys(range(2**20)),
        lambda: frozenset(range(2**20)),
        lambda: functools.reduce(lambda value, _: [value, value], range(60), cast("list[object]", [])),
    ],
    ids=["bytes", "str", "wide", "int", "list", "tuple", "shared", "escaped", "dict", "set", "doubled"],
)
def test_what_is_far_too_large_is_refused_without_being_built(make: Callable[[], object]) -> None:
    value, codec = make(), Codec(max_size=10_000)
    tracemalloc.start()
    try:
        assert "more than 10,000 bytes are reached, the most that are stored" in refusal(value, codec)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000


def test_an_encoding_function_of_the_user_that_raises_is_the_cause() -> None:
    registry = Registry()
    registry.register(Money, "acme.Money", lambda money: 1 // 0, Money)
    with pytest.raises(CodecError, match=r"^kwargs\[0\] cannot be stored: encoding it raised Zero") as refused:
        Codec(registry=registry).encode([Money(1)], "kwargs")
    assert isinstance(refused.value.__cause__, ZeroDivisionError)


def test_a_refusal_is_all_that_the_author_sees() -> None:
    with pytest.raises(CodecError) as refused:
        CHILD.encode([object()])
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__
