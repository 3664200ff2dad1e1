"""A plan comes back from its text as it was, now and in other versions, and equal plans are equal texts."""

from datetime import UTC, datetime, timedelta, timezone
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from bide.errors import PlanError
from bide.model.plan import (
    Callback,
    DagPlan,
    GroupPlan,
    MapInput,
    MapPlan,
    MapSource,
    ParamPlan,
    SchedulePlan,
    TaskPlan,
    WeightRule,
    decode_plan,
    encode_plan,
)
from bide.model.retry import RetryPolicy
from bide.model.trigger_rules import TriggerRule
from bide.model.wait import Wait

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
durations = st.timedeltas(timedelta(0), timedelta(days=36_500))
KNOWN: dict[Any, st.SearchStrategy[Any]] = {
    Any: json_values,
    int: st.integers(-(2**63), 2**63 - 1),
    str: st.text(max_size=20),
    timedelta: durations,
    datetime: st.datetimes(
        datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.sampled_from([UTC, timezone(timedelta(hours=-9))])
    ),
    RetryPolicy: st.builds(
        RetryPolicy,
        retries=st.integers(0, 1000),
        delay=durations,
        exponential=st.booleans(),
        max_delay=st.none() | durations,
        jitter=st.booleans(),
    ),
    Wait: st.builds(
        Wait, classpath=st.just("a.B"), kwargs=st.text(), next_method=st.just("go"), timeout=st.none() | durations
    ),
}


def anything(wanted: Any) -> st.SearchStrategy[Any]:
    """Make any value of the type of a field, so that a new field is tested the moment it is there."""
    if wanted in KNOWN:
        return KNOWN[wanted]
    inner = get_args(wanted)
    if isinstance(wanted, UnionType):
        return st.one_of(*(anything(one) for one in inner))
    if get_origin(wanted) is tuple:
        return st.lists(anything(inner[0]), max_size=2).map(tuple)
    if get_origin(wanted) is frozenset:
        return st.frozensets(anything(inner[0]))
    if get_origin(wanted) is dict:
        return st.dictionaries(anything(inner[0]), anything(inner[1]), max_size=2)
    if isinstance(wanted, type) and issubclass(wanted, Struct):
        return st.builds(wanted, **{field.name: anything(field.type) for field in msgspec.structs.fields(wanted)})
    return st.from_type(wanted)


plans: st.SearchStrategy[DagPlan] = anything(DagPlan)

FULL = DagPlan(
    dag_id="shop",
    tasks=(
        TaskPlan(task_id="list", operator="PythonOperator", group="read"),
        TaskPlan(
            task_id="each",
            operator="HttpSensor",
            upstream=("list",),
            trigger_rule=TriggerRule.NONE_FAILED,
            retry=RetryPolicy(retries=2, exponential=True),
            weight_rule=WeightRule.UPSTREAM,
            execution_timeout=timedelta(hours=1),
            soft_fail=True,
            mapped=MapPlan(inputs=(MapInput(name="url", sources=(MapSource(task_id="list"),)),)),
            start_from_trigger=Wait(classpath="a.B", kwargs="{}", next_method="go"),
            callbacks=frozenset({Callback.RETRY, Callback.FAILURE}),
        ),
    ),
    groups=(GroupPlan(group_id="read", tooltip="what comes in"),),
    schedule=SchedulePlan(kind="cron", arguments={"expression": "0 6 * * *"}, summary="daily at 6"),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    params={"day": ParamPlan(required=True, schema={"type": "string", "format": "date"})},
    tags=("shop", "daily"),
)


@given(plans)
def test_a_plan_comes_back_from_its_text_as_it_was(plan: DagPlan) -> None:
    text = encode_plan(plan)
    assert decode_plan(text) == plan
    assert decode_plan(text.decode()) == plan
    assert encode_plan(decode_plan(text)) == text


def test_equal_plans_have_equal_texts_however_they_came_to_be() -> None:
    one = DagPlan(dag_id="d", tasks=(), schedule=SchedulePlan(kind="k", arguments={"a": 1, "b": {"c": 2, "d": 3}}))
    two = DagPlan(dag_id="d", tasks=(), schedule=SchedulePlan(kind="k", arguments={"b": {"d": 3, "c": 2}, "a": 1}))
    assert encode_plan(one) == encode_plan(two)
    asked = list(Callback)
    texts = {encode_plan(DagPlan(dag_id="d", tasks=(), callbacks=frozenset(some))) for some in (asked, asked[::-1])}
    assert len(texts) == 1


def every_object(told: Any) -> list[dict[str, Any]]:
    below = told.values() if isinstance(told, dict) else told if isinstance(told, list) else ()
    return ([told] if isinstance(told, dict) else []) + [found for one in below for found in every_object(one)]


def test_what_a_newer_version_says_beyond_this_one_is_ignored_everywhere() -> None:
    told = msgspec.json.decode(encode_plan(FULL))
    free = {id(told["schedule"]["arguments"]), id(told["params"]), id(told["params"]["day"]["schema"])}
    objects = [one for one in every_object(told) if id(one) not in free]
    assert len(objects) > 10
    for one in objects:
        one["of_tomorrow"] = {"deep": [1]}
    assert decode_plan(msgspec.json.encode(told)) == FULL


def test_a_plan_of_an_older_version_gets_the_defaults_for_what_it_does_not_say() -> None:
    assert decode_plan('{"dag_id": "d", "tasks": [{"task_id": "t", "operator": "Op"}]}') == DagPlan(
        dag_id="d", tasks=(TaskPlan(task_id="t", operator="Op"),)
    )


def test_fields_that_have_their_default_are_written_too() -> None:
    told = msgspec.json.decode(encode_plan(DagPlan(dag_id="d", tasks=(TaskPlan(task_id="t", operator="Op"),))))
    assert told.keys() == set(DagPlan.__struct_fields__)
    assert told["tasks"][0].keys() == set(TaskPlan.__struct_fields__)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be read"),
        ("{", "cannot be read"),
        ("[]", "Expected `object`"),
        ('{"dag_id": "d"}', "tasks"),
        ('{"dag_id": 7, "tasks": []}', r"\$.dag_id"),
        ('{"dag_id": "d", "tasks": [{"task_id": "t"}]}', r"operator.*\$.tasks\[0\]"),
        ('{"dag_id": "d", "tasks": [{"task_id": "t", "operator": "O", "trigger_rule": "some"}]}', "trigger_rule"),
        ('{"dag_id": "d", "tasks": [{"task_id": "t", "operator": "O", "retry": {"retries": -1}}]}', "retries is -1"),
        ('{"dag_id": "d", "tasks": [], "params": {"p": ' + "[" * 10_000 + "]" * 10_000 + "}}", "cannot be read"),
        (b'{"dag_id": "\xff", "tasks": []}', "cannot be read"),
        ('{"dag_id": "\ud800", "tasks": []}', "cannot be read"),
    ],
)
def test_a_text_that_is_no_plan_is_refused_with_the_place(text: str | bytes, said: str) -> None:
    with pytest.raises(
        PlanError, match=f"(?s)The stored plan cannot be read.*{said}" if "cannot" not in said else said
    ):
        decode_plan(text)


nested: list[Any] = []
nested.append(nested)


@pytest.mark.parametrize("value", [object(), {1j: 1}, "\ud800", nested], ids=["object", "key", "text", "nested"])
def test_what_json_cannot_hold_is_refused_by_the_name_of_the_dag(value: object) -> None:
    with pytest.raises(PlanError, match="'shop' holds what JSON cannot"):
        encode_plan(DagPlan(dag_id="shop", tasks=(), params={"p": ParamPlan(default=value)}))


def test_a_plan_is_read_fast_enough_for_a_dag_of_ten_thousand_tasks() -> None:
    plan = DagPlan(dag_id="d", tasks=tuple(TaskPlan(task_id=f"t{number}", operator="Op") for number in range(10_000)))
    assert decode_plan(encode_plan(plan)) == plan
