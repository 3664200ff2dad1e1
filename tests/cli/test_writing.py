"""How values are written: moments, durations, sizes, texts of others, and YAML that every reader reads back."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bide.cli import words
from bide.cli.yaml import yaml as written

TRAPS = [
    "yes",
    "No",
    "1",
    "1.5",
    "1e3",
    "0x1",
    "1:30",
    "2030-01-01",
    "~",
    "null",
    "=",
    "<<",
    ".inf",
    "a: b",
    "- a",
    "#",
]
TRAPS += [
    " a",
    "a ",
    "a\nb",
    "a\n\nb\n",
    "\n",
    "a\n  b",
    " a\nb",
    "a\r\nb",
    "a\tb",
    "\x85",
    "\u2028",
    "\ufeff",
    "\U000e0001",
]
TEXTS = st.text(st.characters(codec="utf-8")) | st.sampled_from(TRAPS)
FLAT = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
)
VALUES = st.recursive(FLAT, lambda under: st.lists(under, max_size=4) | st.dictionaries(TEXTS, under, max_size=4))


@given(VALUES)
def test_yaml_comes_back_as_what_it_was(value: Any) -> None:
    assert yaml.safe_load(written(value)) == value


@pytest.mark.parametrize("text", TRAPS)
def test_a_text_stays_a_text_for_every_reader(text: str) -> None:
    assert yaml.safe_load(written({text: [text]})) == {text: [text]}


def test_yaml_is_for_people() -> None:
    value = {
        "dag": "sales",
        "tags": ["daily", "eu"],
        "runs": [{"id": 1, "why": "first\nsecond"}],
        "none": [],
        "at": None,
    }
    assert written(value) == (
        "dag: sales\ntags:\n  - daily\n  - eu\nruns:\n  - id: 1\n    why: |-\n      first\n      second\n"
        "none: []\nat: null\n"
    )


@pytest.mark.parametrize(
    ("took", "said"),
    [
        (None, ""),
        (timedelta(0), "0ms"),
        (timedelta(milliseconds=250), "250ms"),
        (timedelta(seconds=1.25), "1.2s"),
        (timedelta(seconds=59.9), "59s"),
        (timedelta(seconds=60), "1m"),
        (timedelta(seconds=3665), "1h 1m"),
        (timedelta(seconds=3605), "1h"),
        (timedelta(days=400, hours=3, minutes=5), "400d 3h"),
        (timedelta(seconds=-90), "-1m 30s"),
    ],
)
def test_durations_are_written_by_their_largest_units(took: timedelta | None, said: str) -> None:
    assert words.duration(took) == said


def test_moments_are_written_in_utc() -> None:
    at = datetime(2030, 1, 31, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    assert words.moment(at) == "2030-01-30 23:30:00Z"
    assert words.moment(datetime(2030, 1, 31, tzinfo=UTC)) == "2030-01-31 00:00:00Z"
    assert words.moment(None) == ""


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (None, ""),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (99_400, "99.4 kB"),
        (999_600, "1.0 MB"),
        (10**15, "1000 TB"),
    ],
)
def test_sizes_are_written_by_three_digits(number: int | None, said: str) -> None:
    assert words.size(number) == said


def test_what_others_say_cannot_move_the_cursor() -> None:
    assert words.plain("a\x1b[2J\x07\u202eb\nc\td") == "a\ufffd[2J\ufffd\ufffdb\nc\td"
    assert words.shortened("a\n  b" + "c" * 100, 10) == "a bcccccc…"
