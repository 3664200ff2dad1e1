"""Variables and connections, params and schedules: values that come from outside of a task."""

import json
from typing import Any

import pytest

from bide.authoring.connection import Connection
from bide.authoring.params import Param, ParamsDict
from bide.authoring.port import answering
from bide.authoring.variable import Variable
from bide.errors import PlanError
from bide.exceptions import NotFound, ParamsRefused, TaskError
from bide.model.plan import ParamPlan
from tests.authoring.engine import Engine
from tests.authoring.world import dag_in, failure, leg_of, plan_of, result_of, returned


def test_variables_are_read_written_and_removed() -> None:
    engine = Engine(variables={"a": "text", "j": '{"x": 1}'})
    with answering(engine):
        assert Variable.get("a") == "text"
        assert Variable.get("j", deserialize_json=True) == {"x": 1}
        assert Variable.get("gone", default=None) is None
        Variable.set("n", 5)
        Variable.set("o", [1], serialize_json=True)
        assert json.loads(engine.variables["o"]) == [1]
        assert (engine.variables["n"], Variable.delete("n"), Variable.delete("n")) == ("5", True, False)
        with pytest.raises(NotFound, match="There is no variable 'gone'"):
            Variable.get("gone")
        with pytest.raises(TaskError, match="Variable 'a' holds no JSON"):
            Variable.get("a", deserialize_json=True)


URIS = [
    (
        "postgresql://me:s%40cret@db.example:5432/my%2Fdata?sslmode=require",
        {
            "conn_type": "postgres",
            "host": "db.example",
            "login": "me",
            "password": "s@cret",
            "schema": "my/data",
            "port": 5432,
            "extra_dejson": {"sslmode": "require"},
        },
    ),
    ("http://", {"conn_type": "http", "host": None, "extra_dejson": {}}),
    ("google-cloud-platform://?__extra__=%7B%22a%22%3A+%5B1%5D%7D", {"extra_dejson": {"a": [1]}}),
    (
        '{"conn_type": "x", "host": "h", "port": "7", "extra": {"a": {"b": 1}}}',
        {"port": 7, "extra_dejson": {"a": {"b": 1}}},
    ),
    ('{"conn_type": "x", "extra": "no json", "unknown": 1}', {"extra": "no json", "extra_dejson": {}}),
]


@pytest.mark.parametrize(("text", "expected"), URIS)
def test_connections_are_read_from_uris_and_json(text: str, expected: dict[str, Any]) -> None:
    with answering(Engine(connections={"c": text})):
        connection = Connection.get("c")
    assert {name: getattr(connection, name) for name in expected} == expected
    assert connection.conn_id == "c"


@pytest.mark.parametrize(("text", "expected"), URIS)
def test_a_connection_written_as_a_uri_is_read_again_as_it_was(text: str, expected: dict[str, Any]) -> None:
    given = Connection.from_json(text, "c") if text.startswith("{") else Connection.from_uri(text, "c")
    again = Connection.from_uri(given.get_uri(), "c")
    assert again.extra_dejson == given.extra_dejson
    assert (again.host, again.login, again.password, again.schema, again.port, again.conn_type) == (
        given.host,
        given.login,
        given.password,
        given.schema,
        given.port,
        given.conn_type,
    )


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("http://host:port", "Connection 'c' is no URI"),
        ("{", "Connection 'c' is no JSON"),
        (" {}x", "Connection 'c' is no JSON"),
        ('{"port": "x"}', "Connection 'c' has a port that is no number."),
    ],
)
def test_a_connection_that_is_neither_is_refused(text: str, refusal: str) -> None:
    with answering(Engine(connections={"c": text})), pytest.raises(TaskError, match=refusal):
        Connection.get("c")


def test_a_connection_that_is_not_there_is_named_and_its_password_never_is() -> None:
    with answering(Engine()), pytest.raises(NotFound, match="There is no connection 'c'"):
        Connection.get("c")
    assert "secret" not in repr(Connection.from_uri("http://me:secret@host?x=secret"))


# Params. ------------------------------------------------------------------------------------------------------

PARAMS = """
    from bide import DAG, Param, task
    with DAG("d", params={
        "plain": 1,
        "n": Param(5, type="integer", minimum=0, description="How many."),
        "day": Param("2026-01-01", type="string", format="date"),
        "at": Param("2026-01-01T00:00:00+00:00", type="string", format="date-time"),
        "none": Param(None, type=["null", "string"]),
        "needed": Param(type="string", description="Say it."),
    }):
        @task(params={"own": 3, "plain": 2})
        def t(params, dag_run):
            return params
        t()
"""


def test_params_are_those_of_the_dag_of_the_task_and_of_the_run() -> None:
    assert result_of(PARAMS, conf={"needed": "x", "n": 7, "more": [1]}) == {
        "plain": 2,
        "n": 7,
        "day": "2026-01-01",
        "at": "2026-01-01T00:00:00+00:00",
        "none": None,
        "needed": "x",
        "own": 3,
        "more": [1],
    }


@pytest.mark.parametrize(
    ("conf", "refusal"),
    [
        ({}, "Param 'needed' is not right: it has no default, and nobody has given it a value."),
        ({"needed": 1}, "Param 'needed' is not right: 1 is not of type 'string'."),
        ({"needed": "x", "n": -1}, "Param 'n' is not right: -1 is less than the minimum of 0."),
        ({"needed": "x", "day": "soon"}, "Param 'day' is not right: 'soon' is not a 'date'."),
        ({"needed": "x", "at": "2026-01-01"}, "Param 'at' is not right: '2026-01-01' is not a 'date-time'."),
    ],
)
def test_params_that_do_not_fit_their_schema_fail_the_task_for_good(conf: dict[str, Any], refusal: str) -> None:
    outcome = leg_of(dag_in(PARAMS), "t", conf=conf)
    assert failure(outcome) == refusal
    assert not outcome.retryable  # type: ignore[union-attr]


def test_the_plan_holds_the_params_with_their_schemas() -> None:
    assert plan_of(PARAMS).params == {
        "plain": ParamPlan(default=1),
        "n": ParamPlan(default=5, schema={"type": "integer", "minimum": 0}, description="How many."),
        "day": ParamPlan(default="2026-01-01", schema={"type": "string", "format": "date"}),
        "at": ParamPlan(default="2026-01-01T00:00:00+00:00", schema={"type": "string", "format": "date-time"}),
        "none": ParamPlan(default=None, schema={"type": ["null", "string"]}),
        "needed": ParamPlan(required=True, schema={"type": "string"}, description="Say it."),
    }


def test_a_dict_of_params_gives_values_and_keeps_schemas() -> None:
    params = ParamsDict({"n": Param(1, type="integer"), "x": "y"})
    params["n"] = 2
    assert dict(params) == {"n": 2, "x": "y"} == params.dump() == params.validate()
    assert (len(params), "n" in params, repr(params)) == (2, True, "{'n': 2, 'x': 'y'}")
    assert params.get_param("n").schema == {"type": "integer"}
    params["n"] = "no"
    with pytest.raises(ParamsRefused, match="'no' is not of type 'integer'"):
        params.validate()
    del params["n"]
    assert params.validate() == {"x": "y"}


def test_a_param_can_be_asked_for_its_value() -> None:
    param = Param(1, type="integer")
    assert (param.resolve(), param.resolve(5), param.value) == (1, 5, 1)
    with pytest.raises(ParamsRefused):
        param.resolve("x")
    with pytest.raises(PlanError, match="holds what JSON cannot"):
        Param({1, 2})


def test_params_of_one_run_are_not_those_of_the_next() -> None:
    dag = dag_in(PARAMS)
    assert returned(leg_of(dag, "t", conf={"needed": "a", "n": 7}))["n"] == 7
    assert returned(leg_of(dag, "t", conf={"needed": "a"}))["n"] == 5
