"""The outcome of a leg crosses the socket whole, and cannot be what the database would refuse."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import OutcomeError
from bide.model.outcome import LONGEST_TEXT, Deferred, Failed, Outcome, Rescheduled, Skipped, Succeeded
from bide.model.wait import LONGEST_WAIT, Wait

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)

texts = st.text(st.characters(exclude_categories=["Cs"]))
names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=50)
whiles = st.timedeltas(timedelta(0), LONGEST_WAIT)
moments = st.datetimes(
    datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))])
)
due = st.one_of(st.fixed_dictionaries({"due_at": moments}), st.fixed_dictionaries({"due_in": whiles}))
then = st.one_of(st.fixed_dictionaries({"event": texts}), st.just({"ends": True}))
held = st.fixed_dictionaries({"shared_key": st.none() | names, "on_kill": st.booleans()})
kinds = st.one_of(held, st.tuples(due, then).map(lambda pair: pair[0] | pair[1]))


@st.composite
def waits(draw: st.DrawFn) -> Wait:
    path = ".".join(draw(st.lists(names, min_size=2, max_size=4)))
    return Wait(
        classpath=path,
        kwargs=draw(texts),
        next_method=draw(st.sampled_from(["execute", "go_on", "weiter_später"])),
        next_kwargs=draw(texts),
        timeout=draw(st.none() | whiles),
        queue=draw(st.none() | names),
        **draw(kinds),
    )


outcomes = st.one_of(
    st.builds(Succeeded, st.dictionaries(names, texts)),
    st.builds(Failed, st.text(), st.text(), st.booleans()),
    st.builds(Skipped, st.text()),
    st.builds(Deferred, waits()),
    st.builds(Rescheduled, until=moments),
    st.builds(Rescheduled, after=whiles),
)


@given(outcomes, st.sampled_from([msgspec.json, msgspec.msgpack]))
def test_every_outcome_comes_back_as_it_was_sent(outcome: Outcome, codec: Any) -> None:
    assert codec.decode(codec.encode(outcome), type=Outcome) == outcome


@given(outcomes)
def test_a_newer_child_may_say_more_than_a_worker_knows(outcome: Outcome) -> None:
    said = msgspec.to_builtins(outcome) | {"mood": "good"}
    assert msgspec.convert(said, type=Outcome, str_keys=True) == outcome


@pytest.mark.parametrize(
    "forged",
    [
        b"{}",
        b'{"type":"exploded"}',
        b'{"type":"failed"}',
        b'{"type":"failed","error":7}',
        b'{"type":"rescheduled"}',
        b'{"type":"succeeded","xcoms":{"":"1"}}',
        b'{"type":"deferred","wait":{"classpath":"Class","kwargs":"{}","next_method":"go"}}',
        b'{"type":"deferred","wait":{"classpath":"a.B","kwargs":"{}","next_method":"__fail__"}}',
        b'{"type":"deferred","wait":{"classpath":"a.B","kwargs":"{}","next_method":"go","timeout":"P99999D"}}',
    ],
)
def test_what_a_child_must_not_say_is_refused_when_it_is_read(forged: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(forged, type=Outcome)


@given(st.text(alphabet=st.sampled_from("a\0\ud800\udfffé"), max_size=20))
def test_whatever_an_exception_says_can_be_stored(said: str) -> None:
    for kept in (Failed(said, said).error, Failed("", said).traceback, Skipped(said).reason):
        assert "\0" not in kept
        assert kept.encode().decode() == kept
        assert len(kept) == len(said)
        assert kept.count("a") == said.count("a")


def test_of_a_text_that_is_too_long_the_end_is_kept() -> None:
    assert Failed("x" * LONGEST_TEXT).error == "x" * LONGEST_TEXT
    kept = Failed("begin" + "x" * LONGEST_TEXT + "end").error
    assert len(kept) == LONGEST_TEXT
    assert kept.startswith("…x")
    assert kept.endswith("end")


@pytest.mark.parametrize("key", ["", "a\0b", "k" * 251])
def test_an_xcom_has_a_key_that_can_be_stored(key: str) -> None:
    with pytest.raises(OutcomeError, match="XCom key"):
        Succeeded({"return_value": "1", key: "2"})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "either until or after"),
        ({"until": NOW, "after": TICK}, "either until or after"),
        ({"until": NOW.replace(tzinfo=None)}, "without a time zone"),
        ({"after": -TICK}, "negative"),
        ({"after": LONGEST_WAIT + TICK}, "36500 days"),
    ],
)
def test_a_sensor_says_when_it_will_look_again(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(OutcomeError, match=said):
        Rescheduled(**wrong)


def test_a_sensor_may_look_again_at_once() -> None:
    assert Rescheduled(after=timedelta(0)).after == timedelta(0)
