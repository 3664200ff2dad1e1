"""What the codec writes, what it makes of classes that are not there, and what it refuses to read."""

import inspect
import subprocess
import sys
import time
from dataclasses import make_dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest

from bide.errors import CodecError
from bide.model.codec import MAX_DEPTH, MAX_SIZE, Codec, Opaque, Registry
from tests.unit.codec_values import CHILD, REGISTRY, SERVICE, Job, Message, Money, Point, Rights, picture, resolve

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, None, True, 1.5, "é"]}, '{"a":[1,null,true,1.5,"é"]}'),
        ({"$": 1, "$a": 2, "a$": 3}, '{"$$":1,"$$a":2,"a$":3}'),
        ({"\0": "a\0é"}, '{"$\\\\x00":{"$":"str","v":"a\\\\x00\\\\xe9"}}'),
        ("\ud800", '{"$":"str","v":"\\\\ud800"}'),
        (2**63, '{"$":"int","v":"0x8000000000000000"}'),
        (-0.0, "-0.0"),
        (float("inf"), '{"$":"float","v":"inf"}'),
        ((1, (2,)), '{"$":"tuple","v":[1,{"$":"tuple","v":[2]}]}'),
        ({3, 1, 2}, '{"$":"set","v":[1,2,3]}'),
        ({1: "a", "b": 2}, '{"$":"dict","v":[[1,"a"],["b",2]]}'),
        (b"\xff", '{"$":"bytes","v":"/w=="}'),
        (datetime(2024, 5, 1, 12, tzinfo=UTC), '{"$":"datetime","v":"2024-05-01T12:00:00+00:00"}'),
        (
            datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN, fold=1),
            '{"$":"datetime","v":{"wall":"2024-10-27T02:30:00","tzinfo":{"$":"zone","v":"Europe/Berlin"},"fold":1}}',
        ),
        (Decimal("1.10"), '{"$":"decimal","v":"1.10"}'),
        (timedelta(days=-1, seconds=1), '{"$":"timedelta","v":[-1,1,0]}'),
        (Rights.READ | Rights.WRITE, '{"$":"tests.unit.codec_values:Rights","v":3}'),
        (Point(1, 2), '{"$":"tests.unit.codec_values:Point","v":{"x":1,"y":2}}'),
        (Money(5), '{"$":"acme.Money","v":[5]}'),
    ],
)
def test_the_text_is_as_plain_as_it_can_be(value: object, text: str) -> None:
    assert CHILD.encode(value) == text
    assert picture(CHILD.decode(text)) == picture(value)


def test_equal_sets_give_equal_texts() -> None:
    assert CHILD.encode(set(range(1000, 0, -1))) == CHILD.encode(set(range(1, 1001)))


def test_an_everyday_value_takes_microseconds() -> None:
    value = {"host": "db.example.org", "port": 5432, "poll_interval": 5.0, "tables": ["a", "b"], "soft_fail": False}
    spent = []
    for _ in range(200):
        began = time.perf_counter()
        CHILD.decode(CHILD.encode(value))
        spent.append(time.perf_counter() - began)
    assert min(spent) < 20e-6


def test_fields_that_no_constructor_takes_come_back() -> None:
    job = Job("load", options=[1])
    job.seen = 8
    assert picture(CHILD.decode(CHILD.encode(job))) == picture(job)


def test_a_value_of_an_unknown_class_is_opaque_and_comes_back_unchanged() -> None:
    value = {"at": [Point((1,), Message(b"x"))], "left": {Point(1): Money(2)}}
    text = CHILD.encode(value)
    read = SERVICE.decode(text)
    [point] = read["at"]
    assert isinstance(point, Opaque)
    assert point.name == "tests.unit.codec_values:Point"
    assert "Message" not in repr(point)
    assert SERVICE.encode(read) == text
    assert picture(CHILD.decode(SERVICE.encode(read))) == picture(value)


def test_a_time_in_a_zone_of_an_unknown_class_is_opaque_as_a_whole() -> None:
    text = '{"$":"datetime","v":{"wall":"2024-05-01T12:00:00","tzinfo":{"$":"pendulum:Timezone","v":"Cuba"},"fold":0}}'
    read = SERVICE.decode(text)
    assert isinstance(read, Opaque)
    assert SERVICE.encode(read) == text


def test_an_opaque_made_by_hand_cannot_smuggle_in_what_is_no_json() -> None:
    for text in ('1},"x":{', "[" * 200 + "]" * 200):
        with pytest.raises(CodecError, match="that no codec has made"):
            SERVICE.encode(Opaque("acme.Money", text))


def test_a_service_imports_nothing_for_a_stored_value(tmp_path: Path) -> None:
    (tmp_path / "planted.py").write_text("raise SystemExit('imported')\n")
    source = (
        "import sys; from bide.model.codec import Codec; before = set(sys.modules)\n"
        """read = Codec().decode('[{"$":"planted:Thing","v":{}},{"$":"planted.Thing","v":1}]')\n"""
        "assert set(sys.modules) == before, set(sys.modules) - before; print(read)"
    )
    run = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "[Opaque(name='planted:Thing'), Opaque(name='planted.Thing')]\n"


@pytest.mark.parametrize("name", ["os:system", "builtins:list", "subprocess:Popen", "tests.unit.codec_values:Money"])
def test_a_child_builds_only_what_consists_of_its_fields(name: str) -> None:
    with pytest.raises(CodecError, match="without being registered"):
        CHILD.decode(f'{{"$":"{name}","v":"true"}}')


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"$":"no.such","v":1}', "import the module that registers it"),
        ('{"$":"nowhere:Nothing","v":1}', "ModuleNotFoundError"),
        ('{"$":"nothing","v":1}', "which no codec writes"),
        ('{"$":"tuple"}', "no codec writes"),
        ('{"$":"tuple","v":[],"event":1}', "no codec writes"),
        ('{"\\u0024":"tuple"}', "no codec writes"),
        ('{"$":"tuple","v":{}}', "wrong shape"),
        ('{"$":"set","v":[1,1.0]}', "occurs twice"),
        ('{"$":"dict","v":[[1,2],[1,3]]}', "occurs twice"),
        ('{"$":"dict","v":["ab"]}', "pairs"),
        ('{"$a":1}', "without need"),
        ('{"$":"zone","v":"../../../etc/passwd"}', "no name of a zone"),
        ('{"$":"zone","v":"Europe"}', "zone"),
        ('{"$":"datetime","v":"yesterday"}', "ValueError"),
        ('{"$":"tests.unit.codec_values:Job","v":{"name":"a"}}', "other fields"),
        ('{"$":"tests.unit.codec_values:Message","v":{"body":1,"tags":2,"more":3}}', "other fields"),
        ('{"$":"tests.unit.codec_values:Colour","v":"BLUE"}', "KeyError"),
        ("[1", "no JSON"),
        ("\ud800", "no JSON"),
        ("1e999", "no JSON"),
    ],
)
def test_a_text_that_no_codec_has_written_is_refused(text: str, why: str) -> None:
    with pytest.raises(CodecError, match=why):
        CHILD.decode(text)


def test_a_dataclass_that_has_changed_is_refused_and_not_half_built(monkeypatch: pytest.MonkeyPatch) -> None:
    text = CHILD.encode(Job("load"))
    changed = make_dataclass("Job", ["name", "seen", "options", "owner"])
    changed.__module__ = Job.__module__
    monkeypatch.setattr(f"{Job.__module__}.Job", changed)
    with pytest.raises(CodecError, match="other fields"):
        CHILD.decode(text)


def test_what_two_values_may_take_is_read_since_an_event_is_appended_to_arguments() -> None:
    codec = Codec(max_size=100)
    assert codec.decode("[" + "1," * 98 + "1]") == [1] * 99
    with pytest.raises(CodecError, match="201 characters"):
        codec.decode(" " * 201)


@pytest.mark.parametrize("piece", ["[", "{", '"\\', '[{"$":"tuple","v":', '"[', '"" '])
def test_a_hostile_text_is_refused_in_no_time(piece: str) -> None:
    text = piece * (2 * MAX_SIZE // len(piece))
    began = time.process_time()
    with pytest.raises(CodecError):
        SERVICE.decode(text)
    assert time.process_time() - began < 1


def test_brackets_in_strings_do_not_count() -> None:
    value = ['[{"\\[' * 1000]
    assert SERVICE.decode(SERVICE.encode(value)) == value


def test_the_deepest_value_that_is_stored_is_also_read() -> None:
    value: object = 1
    for _ in range(MAX_DEPTH // 2):
        value = (value,)
    assert picture(SERVICE.decode(SERVICE.encode(value))) == picture(value)


def test_little_stack_gives_a_codec_error_in_both_directions() -> None:
    value: object = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    tagged = SERVICE.encode([(1,), value[0]])  # type: ignore[index]

    def deep(left: int) -> None:
        if left:
            return deep(left - 1)
        for attempt in (lambda: SERVICE.encode(value), lambda: SERVICE.decode(tagged)):
            with pytest.raises(CodecError, match="what is left of Python's stack"):
                attempt()
        return None

    deep(sys.getrecursionlimit() - len(inspect.stack()) - 90)


def test_a_type_is_registered_under_one_name_that_nobody_else_has() -> None:
    registry = Registry()
    registry.register(Money, "acme.Money", lambda money: money.amount, Money)
    registry.register(Money, "acme.Money", lambda money: [money.amount], lambda data: Money(*data))  # loaded anew
    for cls, name in ((Job, "acme.Money"), (Money, "acme.Cash"), (Job, "Job"), (Job, "a:Job"), (Job, "a.\0")):
        with pytest.raises(CodecError):
            registry.register(cls, name, str, lambda data: data)
    assert Codec(registry=registry).encode(Money(1)) == '{"$":"acme.Money","v":[1]}'


def test_a_reading_function_of_the_user_that_raises_is_named() -> None:
    registry = Registry()
    registry.register(Money, "acme.Money", lambda money: money.amount, lambda data: Money(1 / data))
    with pytest.raises(CodecError, match=r"acme\.Money cannot be read: ZeroDivisionError") as refused:
        Codec(registry=registry).decode('{"$":"acme.Money","v":0}')
    assert isinstance(refused.value.__cause__, ZeroDivisionError)


def test_offsets_keep_the_names_that_somebody_gave_them() -> None:
    named = datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=1), "CET"))
    assert picture(SERVICE.decode(SERVICE.encode(named))) == picture(named)


@pytest.mark.parametrize("offset", [timedelta(microseconds=1), timedelta(seconds=-1, microseconds=1)])
def test_an_offset_that_python_does_not_read_from_iso_text_comes_back(offset: timedelta) -> None:
    moment = datetime(2024, 1, 1, tzinfo=timezone(offset))
    assert moment.fromisoformat(moment.isoformat()) != moment
    for value in (moment, moment.timetz()):
        assert picture(SERVICE.decode(SERVICE.encode(value))) == picture(value)


def test_codecs_share_nothing() -> None:
    assert Codec(resolve).encode(Point(1)) == Codec(resolve, REGISTRY).encode(Point(1))
    with pytest.raises(CodecError):
        Codec(resolve).encode(Money(1))
    assert msgspec.json.decode(Codec().encode([])) == []
