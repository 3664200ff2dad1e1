"""Any value comes back exactly, and any text gives a value or a CodecError.

`make fuzz` makes it 200 000 values and 200 000 texts. The seeds are fixed, so that a failure can be seen again.
"""

import os
from collections.abc import Iterator
from contextlib import suppress

import asyncpg
import msgspec
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from bide.errors import CodecError
from bide.model.codec import MAX_DEPTH
from bide.model.codec.builtin import BUILTIN_BY_NAME
from bide.model.codec.limits import check_before_reading
from tests.unit.codec_values import CHILD, SERVICE, SIMPLE, TEXTS, VALUES, picture

# Hypothesis sometimes writes down what a strategy consists of, and finds that of VALUES long.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

THOROUGH = os.environ.get("BIDE_HYPOTHESIS") == "thorough"
PARTS = range(8)
VALUES_PER_PART = 25_000 if THOROUGH else 250
FUZZ_PER_PART = 25_000 if THOROUGH else 250
BATCH = 5_000

RARE = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
many = settings(max_examples=VALUES_PER_PART, database=None, deadline=None, suppress_health_check=RARE)
many_fuzzed = settings(many, max_examples=FUZZ_PER_PART)


@pytest.mark.parametrize("part", PARTS)
async def test_any_value_comes_back_exactly_from_its_text_and_from_postgresql(database: str, part: int) -> None:
    texts: list[str] = []

    @seed(part)
    @many
    @given(VALUES)
    def check(value: object) -> None:
        text = CHILD.encode(value)
        assert picture(CHILD.decode(text)) == picture(value)
        assert SERVICE.encode(SERVICE.decode(text)) == text
        texts.append(text)

    check()
    assert len(texts) >= VALUES_PER_PART
    await check_in_postgresql(database, texts)


async def check_in_postgresql(database: str, texts: list[str]) -> None:
    connection = await asyncpg.connect(database)
    try:
        await connection.execute("create temporary table stored (number bigint, value json)")
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            await connection.execute(
                "insert into stored select g.number, g.value::json"
                " from unnest($1::text[]) with ordinality as g (value, number)",
                batch,
            )
            # The cast to jsonb and back shows that it can be read in SQL.
            rows = await connection.fetch("select value, value::jsonb #>> '{}' from stored order by number")
            assert [row["value"] for row in rows] == batch
            await connection.execute("truncate stored")
    finally:
        await connection.close()


@seed(0)
@given(st.dictionaries(TEXTS, VALUES, max_size=3), VALUES)
@settings(many, max_examples=100)
def test_an_event_that_postgresql_appends_is_read_with_the_arguments(kwargs: dict[str, object], event: object) -> None:
    kwargs.pop("event", None)
    text, more = CHILD.encode(kwargs), CHILD.encode(event)
    appended = f'{text[:-1]}{"," if kwargs else ""}"event":{more}}}'
    assert picture(CHILD.decode(appended)) == picture({**kwargs, "event": event})


TAGS = st.sampled_from(
    [
        *BUILTIN_BY_NAME,
        *("", "nothing", "acme.Money", "acme.Nothing", "nowhere:Nothing", "os:system", "builtins:list"),
        *(
            f"tests.unit.codec_values:{name}"
            for name in ("Colour", "Job", "Point", "Message", "Cell", "Rights", "Money")
        ),
        *("pendulum:DateTime", "pendulum:Duration", "a:b", "a.b", "$", "\0", "tests:", ":", ".", "..:a"),
    ]
)
# What the types write, so that their readers are asked about almost right data.
DATA = st.sampled_from(
    [
        *("0x10", "nan", "Europe/Berlin", "Europe", "../../etc/passwd", "2024-02-30", "2024-01-01T00:00:00+01:00"),
        *("a\\x00", "a\\", "\\u00", "AAA=", "ffff", "RED", "1e5", "1E+99999999999999999999", "24:00", "12:00:00.1"),
        *([0, 0, 0], [10**9, 0, 0], [[1, 2], [1, 3]], [1, 1.0, True], [[], []], {"x": 1, "y": 2}, {"name": "a"}),
        {"wall": "2024-01-01T00:00:00", "tzinfo": None, "fold": 1},
        {"wall": "2024-01-01T00:00:00", "tzinfo": {"$": "zone", "v": "UTC"}, "fold": 2},
        {"wall": "12:00", "tzinfo": {"$": "nowhere:Zone", "v": 1}, "fold": 0},
    ]
)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8) | DATA,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["$", "v", "$$", "$a", "$\\x00", "a", "event"]), inner, max_size=3)
        | st.builds(lambda tag, data: {"$": tag, "v": data}, TAGS, inner | DATA)
    ),
    max_leaves=8,
).map(lambda tree: msgspec.json.encode(tree).decode())
PIECES = st.sampled_from(
    ["{", "}", "[", "]", '"', "\\", ",", ":", '{"$":', '"v":', "\\u0024", "\\ud800", "\0", "\ud800", "1e999", "-"]
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(TREES | SIMPLE.map(CHILD.encode))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 6)))
        text = text[:start] + draw(PIECES | st.text(max_size=2) | st.just(text[start:end] * 2)) + text[end:]
    return text


@pytest.mark.parametrize("part", PARTS)
def test_any_text_gives_a_value_or_a_codec_error(part: int) -> None:
    @seed(part)
    @many_fuzzed
    @given(TREES | mutated() | TEXTS)
    def check(text: str) -> None:
        for codec in (CHILD, SERVICE):
            with suppress(CodecError):
                codec.decode(text)

    check()


def depth_of(text: str) -> int:
    """Follow the brackets one by one."""
    deepest = depth = 0
    characters: Iterator[str] = iter(text)
    for character in characters:
        if character == '"':
            for inside in characters:
                if inside == "\\":
                    next(characters, None)
                elif inside == '"':
                    break
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
    return deepest


@seed(0)
@given(st.text(st.sampled_from('[{]}"\\a'), max_size=40).flatmap(lambda piece: st.integers(1, 60).map(piece.__mul__)))
@settings(many, max_examples=VALUES_PER_PART)
def test_depth_is_counted_as_a_reader_of_single_characters_counts_it(text: str) -> None:
    refused = False
    try:
        check_before_reading(text, 10**6)
    except CodecError:
        refused = True
    assert refused is (depth_of(text) > MAX_DEPTH + 8)
