"""What a task knows of itself, its run and others: ti, dag_run, XComs, the context."""

from datetime import timedelta
from typing import Any

import pytest

from bide.authoring.collect import FileBroken
from bide.authoring.values import VALUES
from bide.model.messages import RunFacts
from bide.model.outcome import Failed
from tests.authoring.engine import Engine, OtherRun
from tests.authoring.world import DAY, NOW, dag_in, failure, leg_of, result_of, returned

RUN = "scheduled__2026-03-01"


def engine_with(*xcoms: tuple[str, int, str, Any], dag_id: str = "d") -> Engine:
    stored = {(dag_id, RUN, task, index, key): VALUES.encode(value) for task, index, key, value in xcoms}
    return Engine(xcoms=stored)


PULL = """
    from bide import DAG, task
    with DAG("d"):
        @task
        def mapped(x): ...
        @task
        def plain(): ...
        @task
        def t(ti):
            return ti.xcom_pull({})
        mapped.expand(x=[1, 2, 3])
        plain(), t()
"""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("'plain'", 1),
        ("'plain', key='k'", 2),
        ("['plain', 'gone']", [1, None]),
        ("task_ids=['plain', 'mapped']", [1, [10, 12]]),
        ("'gone'", None),
        ("'gone', default=7", 7),
        ("'mapped'", [10, 12]),
        ("'mapped', map_indexes=2", 12),
        ("'mapped', map_indexes=[2, 1, 0]", [12, None, 10]),
        ("'plain', map_indexes=None", 1),
        ("'plain', dag_id='other'", 99),
        ("'plain', run_id='before'", 55),
        ("key='own'", 4),
    ],
)
def test_results_are_fetched_by_task_key_index_dag_and_run(arguments: str, expected: Any) -> None:
    engine = engine_with(
        ("plain", -1, "return_value", 1),
        ("plain", -1, "k", 2),
        ("mapped", 0, "return_value", 10),
        ("mapped", 2, "return_value", 12),
        ("t", -1, "own", 4),
    )
    engine.xcoms["other", RUN, "plain", -1, "return_value"] = "99"
    engine.xcoms["d", "before", "plain", -1, "return_value"] = "55"
    assert result_of(PULL.format(arguments), engine=engine) == expected


def test_an_instance_of_a_mapped_task_fetches_its_own_xcoms() -> None:
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task
            def t(x, ti):
                return [ti.map_index, ti.xcom_pull(key="own")]
            t.expand(x=[1, 2])
    """)
    engine = engine_with(("t", 1, "own", "mine"))
    assert returned(leg_of(dag, "t", engine, 1)) == [1, "mine"]


def test_what_is_pushed_is_there_at_once() -> None:
    engine = Engine()
    body = """
        from bide import DAG, task
        with DAG("d"):
            @task
            def t(ti):
                ti.xcom_push(key="k", value=(1, 2))
                return ti.xcom_pull(key="k")
            t()
    """
    assert result_of(body, engine=engine) == (1, 2)
    assert engine.xcoms["d", RUN, "t", -1, "k"] == '{"$":"tuple","v":[1,2]}'


def test_what_cannot_be_stored_is_refused_where_it_is_pushed() -> None:
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task
            def t(ti):
                ti.xcom_push(key="k", value={"a": [print]})
            t()
    """)
    outcome = leg_of(dag, "t")
    assert failure(outcome).startswith("XCom 'k'['a'][0] is a function, and code is not stored.")
    assert isinstance(outcome, Failed)
    assert 'ti.xcom_push(key="k", value={"a": [print]})' in outcome.traceback


def test_a_leg_that_was_taken_away_stores_nothing_and_ends() -> None:
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task
            def t(ti):
                try:
                    ti.xcom_push(key="k", value=1)
                except Exception:
                    return "went on"
            t()
    """)
    assert failure(leg_of(dag, "t", Engine(leg_is_ours=False))) == (
        "This try has been taken away, so nothing is stored any more."
    )


KNOWN = """
    from bide import DAG, get_current_context, task
    with DAG("d"):
        @task
        def t({}):
            return {}
        t()
"""


@pytest.mark.parametrize(
    ("asked", "expression", "expected"),
    [
        ("ti", "[ti.dag_id, ti.task_id, ti.run_id, ti.map_index]", ["d", "t", RUN, -1]),
        ("ti", "[ti.try_number, ti.max_tries, str(ti.state)]", [2, 5, "running"]),
        ("ti", "[ti.start_date, ti.logical_date, ti.key]", [NOW, DAY, f"d__t__{RUN}"]),
        ("ti", "[repr(ti), ti.task.task_id]", [f"<TaskInstance d.t {RUN} [running]>", "t"]),
        ("dag_run", "[dag_run.run_id, dag_run.conf, repr(dag_run)]", [RUN, {"a": 1}, f"<DagRun d {RUN}>"]),
        ("dag_run", "[dag_run.data_interval_start, dag_run.data_interval_end]", [DAY, DAY + timedelta(days=1)]),
        ("", "get_current_context()['run_id']", RUN),
        ("**context", "sorted(context) == sorted(get_current_context())", True),
        ("**context", "[context['ti'] is context['task_instance'], 'x' in context]", [True, False]),
        ("**context", "context.get('nothing', 3)", 3),
        ("params", "params", {"a": 1}),
        ("ti", "ti.get_dagrun_state('other', 'r')", "failed"),
        ("ti", "ti.get_dagrun_state(run_id='gone')", None),
        ("ti", "ti.get_previous_dagrun().run_id", "before"),
        ("ti", "ti.get_previous_start_date('success')", DAY),
        ("prev_start_date_success, **rest", "[prev_start_date_success, 'ds' in rest]", [DAY, True]),
    ],
)
def test_a_task_knows_itself_and_its_run(asked: str, expression: str, expected: Any) -> None:
    engine = Engine(
        runs={("other", "r"): OtherRun("failed")},
        previous=RunFacts(dag_id="d", run_id="before", run_type="scheduled", start_date=DAY),
    )
    body = KNOWN.format(asked, expression)
    assert result_of(body, engine=engine, try_number=2, max_tries=5, conf={"a": 1}) == expected


def test_a_run_without_a_date_has_no_run_before_it() -> None:
    engine = Engine()
    assert result_of(KNOWN.format("ti", "ti.get_previous_dagrun()"), engine=engine, logical_date=None) is None
    assert engine.asked == []


def test_outside_of_a_task_there_is_no_context() -> None:
    dag = dag_in(KNOWN.format("", "1"))
    leg_of(dag, "t")
    with pytest.raises(FileBroken, match="There is a context only while a task runs"):
        dag_in("from bide import get_current_context\nget_current_context()")


def test_threads_of_a_task_may_ask_the_engine_too() -> None:
    body = """
        from concurrent.futures import ThreadPoolExecutor
        from bide import DAG, Variable, task
        with DAG("d"):
            @task
            def t():
                with ThreadPoolExecutor(4) as pool:
                    return list(pool.map(Variable.get, ["a", "b", "a", "b"]))
            t()
    """
    assert result_of(body, engine=Engine(variables={"a": "1", "b": "2"})) == ["1", "2", "1", "2"]


def test_a_missing_xcom_under_a_key_is_named() -> None:
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task
            def one(): return 1
            @task
            def t(x): return x
            t(one()["k"])
    """)
    assert failure(leg_of(dag, "t")) == "Task 'one' has left nothing under the key 'k'."
