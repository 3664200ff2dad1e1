"""Everything that an author has said about a DAG stands in its plan."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bide.authoring.plan import to_plan
from bide.model.plan import Callback, DagPlan, SchedulePlan, TaskPlan, WeightRule, decode_plan, encode_plan
from bide.model.retry import RetryPolicy
from bide.model.trigger_rules import TriggerRule
from tests.authoring.world import IMPORTS, PATH, dag_in, plan_of


def dag_plan(arguments: str) -> DagPlan:
    return plan_of(f"{IMPORTS}with DAG('d', {arguments}): ...")


def task_plan(arguments: str, dag_arguments: str = "") -> TaskPlan:
    (task,) = plan_of(
        f"{IMPORTS}with DAG('d', {dag_arguments}):\n    BashOperator(task_id='t', bash_command='x', {arguments})"
    ).tasks
    return task


def test_a_plan_comes_back_from_its_text_as_it_was() -> None:
    plan = dag_plan("start_date=pendulum.datetime(2026, 1, 1, tz='Europe/Berlin'), schedule='@daily', tags=['b', 'a']")
    assert decode_plan(encode_plan(plan)) == plan
    assert plan.start_date == datetime(2025, 12, 31, 23, tzinfo=UTC)
    assert (plan.timezone, plan.tags, plan.fileloc) == ("Europe/Berlin", ("a", "b"), PATH)


def test_what_nobody_has_said_is_as_documented() -> None:
    assert dag_plan("") == DagPlan(
        dag_id="d", tasks=(), fileloc=PATH, schedule=SchedulePlan(summary="only when somebody launches it")
    )
    assert task_plan("") == TaskPlan(task_id="t", operator="BashOperator")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("description='x'", {"description": "x"}),
        ("doc_md='# x'", {"doc": "# x"}),
        ("dag_display_name='X'", {"display_name": "X"}),
        ("end_date=pendulum.datetime(2027, 1, 1)", {"end_date": datetime(2027, 1, 1, tzinfo=UTC)}),
        ("catchup=True, start_date=pendulum.datetime(2027, 1, 1)", {"catchup": True}),
        ("max_active_runs=1, max_active_tasks=2", {"max_active_runs": 1, "max_active_tasks": 2}),
        ("dagrun_timeout=timedelta(hours=1)", {"dagrun_timeout": timedelta(hours=1)}),
        ("fail_fast=True, is_paused_upon_creation=False", {"fail_fast": True, "is_paused_upon_creation": False}),
        ("on_success_callback=print", {"callbacks": {Callback.SUCCESS}}),
        ("on_failure_callback=[print, print]", {"callbacks": {Callback.FAILURE}}),
        ("default_args={'owner': 'me'}", {"owner": "me"}),
        (
            "default_args={'start_date': pendulum.datetime(2026, 1, 1)}",
            {"start_date": datetime(2026, 1, 1, tzinfo=UTC)},
        ),
        ("start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)", {"timezone": "UTC"}),
        ("access_control={'x': {}}, owner_links={'a': 'b'}, default_view='graph', orientation='TB'", {}),
    ],
)
def test_arguments_of_a_dag_are_kept(arguments: str, expected: dict[str, Any]) -> None:
    plan = dag_plan(arguments)
    assert {name: getattr(plan, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("retries=3", {"retry": RetryPolicy(retries=3)}),
        ("retries=None", {"retry": RetryPolicy()}),
        (
            "retry_delay=90, retry_exponential_backoff=True, max_retry_delay=timedelta(hours=1), retry_jitter=True",
            {
                "retry": RetryPolicy(
                    delay=timedelta(seconds=90), exponential=True, max_delay=timedelta(hours=1), jitter=True
                )
            },
        ),
        ("trigger_rule='one_failed'", {"trigger_rule": TriggerRule.ONE_FAILED}),
        ("trigger_rule=TriggerRule.ALWAYS", {"trigger_rule": TriggerRule.ALWAYS}),
        ("depends_on_past=True", {"depends_on_past": True, "wait_for_downstream": False}),
        ("wait_for_downstream=True", {"depends_on_past": True, "wait_for_downstream": True}),
        ("pool='p', pool_slots=3", {"pool": "p", "pool_slots": 3}),
        ("pool=None", {"pool": "default_pool"}),
        ("priority_weight=7, weight_rule='absolute'", {"priority_weight": 7, "weight_rule": WeightRule.ABSOLUTE}),
        ("queue='q', executor='e'", {"queue": "q", "executor": "e"}),
        (
            "max_active_tis_per_dag=2, max_active_tis_per_dagrun=1",
            {"max_active_tis_per_dag": 2, "max_active_tis_per_dagrun": 1},
        ),
        ("execution_timeout=timedelta(minutes=1)", {"execution_timeout": timedelta(minutes=1)}),
        ("task_display_name='T'", {"display_name": "T"}),
        ("owner='me'", {"owner": "me"}),
        ("doc='x'", {"doc": "x"}),
        ("doc_yaml='x'", {"doc": "x"}),
        ("outlets=[Asset('a'), 'b', Asset(uri='s3://c')]", {"outlets": ("a", "b", "s3://c")}),
        ("outlets=Asset('a'), inlets=[Asset('b')]", {"outlets": ("a",)}),
        (
            "on_execute_callback=print, on_retry_callback=print, on_skipped_callback=print",
            {"callbacks": {Callback.EXECUTE, Callback.RETRY, Callback.SKIPPED}},
        ),
        ("email=['a@b.c'], email_on_failure=False, email_on_retry=False", {}),
        ("executor_config={}, sla=None, resources=None, run_as_user='', start_date=None", {}),
    ],
)
def test_arguments_of_a_task_are_kept(arguments: str, expected: dict[str, Any]) -> None:
    task = task_plan(arguments)
    assert {name: getattr(task, name) for name in expected} == expected


def test_default_arguments_reach_every_operator_that_takes_them() -> None:
    defaults = "default_args={'retries': 2, 'owner': 'me', 'cwd': '/x', 'postgres_conn_id': 'shared', 'env': {}}"
    dag: Any = dag_in(f"{IMPORTS}with DAG('d', {defaults}):\n    BashOperator(task_id='t', bash_command='x')")
    task = dag.get_task("t")
    assert (task.retries, task.owner, task.cwd) == (2, "me", "/x")
    own: Any = dag_in(f"""
        {IMPORTS.replace(chr(10), chr(10) + "        ")}
        class Three(BashOperator):
            def __init__(self, word="none", **kwargs):
                super().__init__(bash_command=word, retries=3, **kwargs)
        with DAG("d", default_args={{"retries": 2, "word": "echo"}}):
            Three(task_id="t")
            Three(task_id="u", default_args={{"word": "other", "owner": "me"}})
    """)
    assert [(task.bash_command, task.retries, task.owner) for task in own.tasks] == [
        ("echo", 3, "bide"),
        ("other", 3, "me"),
    ]


CRON = {"expression": "0 0 * * *", "timezone": "UTC"}
TICK = CRON | {"trigger": True}


@pytest.mark.parametrize(
    ("schedule", "kind", "arguments", "summary"),
    [
        ("None", "none", {}, "only when somebody launches it"),
        ("'@once'", "once", {}, "@once"),
        ("'@continuous'", "continuous", {}, "@continuous"),
        ("'@hourly'", "cron", TICK | {"expression": "0 * * * *"}, "@hourly"),
        ("'@daily'", "cron", TICK, "@daily"),
        ("'@weekly'", "cron", TICK | {"expression": "0 0 * * 0"}, "@weekly"),
        ("'@monthly'", "cron", TICK | {"expression": "0 0 1 * *"}, "@monthly"),
        ("'@quarterly'", "cron", TICK | {"expression": "0 0 1 */3 *"}, "@quarterly"),
        ("'@yearly'", "cron", TICK | {"expression": "0 0 1 1 *"}, "@yearly"),
        ("'30 6 * * MON-FRI'", "cron", TICK | {"expression": "30 6 * * MON-FRI"}, "30 6 * * MON-FRI"),
        ("timedelta(minutes=90)", "delta", {"seconds": 5400.0, "trigger": True}, "every 1:30:00"),
        (
            "DeltaTriggerTimetable(timedelta(days=1), interval=timedelta(hours=6))",
            "delta",
            {"seconds": 86400.0, "trigger": True, "interval": 21600.0},
            "every 1 day, 0:00:00",
        ),
        ("DeltaDataIntervalTimetable(timedelta(days=2))", "delta", {"seconds": 172800.0}, "every 2 days, 0:00:00"),
        (
            "CronDataIntervalTimetable('@daily', timezone='Asia/Tokyo')",
            "cron",
            CRON | {"timezone": "Asia/Tokyo"},
            "@daily (Asia/Tokyo)",
        ),
        (
            "CronTriggerTimetable('0 0 * * *', timezone=pendulum.timezone('UTC'))",
            "cron",
            TICK,
            "0 0 * * *",
        ),
        (
            "MultipleCronTriggerTimetable('@daily', '0 6 * * *', '@weekly', timezone='Asia/Tokyo')",
            "cron",
            TICK | {"timezone": "Asia/Tokyo", "more": ["0 6 * * *", "0 0 * * 0"]},
            "@daily, 0 6 * * *, @weekly (Asia/Tokyo)",
        ),
        (
            "CronTriggerTimetable('@daily', timezone='UTC', interval=timedelta(days=1))",
            "cron",
            TICK | {"interval": 86400.0},
            "@daily",
        ),
    ],
)
def test_schedules_are_kept_as_data(schedule: str, kind: str, arguments: dict[str, Any], summary: str) -> None:
    assert dag_plan(f"schedule={schedule}").schedule == SchedulePlan(kind=kind, arguments=arguments, summary=summary)


def test_cron_lines_are_in_the_time_zone_of_the_start_date() -> None:
    plan = dag_plan("schedule='0 5 * * *', start_date=pendulum.datetime(2026, 1, 1, tz='America/New_York')")
    assert plan.schedule.arguments == {"expression": "0 5 * * *", "timezone": "America/New_York", "trigger": True}
    assert plan.schedule.summary == "0 5 * * * (America/New_York)"


def test_one_run_goes_on_at_a_time_when_they_go_on_continuously() -> None:
    assert dag_plan("schedule='@continuous'").max_active_runs == 1


def test_an_argument_that_is_changed_afterwards_is_checked_again() -> None:
    dag: Any = dag_in(f"{IMPORTS}with DAG('d'): EmptyOperator(task_id='t')")
    dag.get_task("t").trigger_rule = "all_done"
    dag.get_task("t").doc_md = "about it"
    (task,) = to_plan(dag).tasks
    assert (task.trigger_rule, task.doc) == (TriggerRule.ALL_DONE, "about it")
    dag.get_task("t").retries = "many"
    with pytest.raises(ValueError, match=r"/dags/example\.py:7: Task 't': retries is a str; it must be a whole"):
        to_plan(dag)


def test_a_result_that_is_assigned_afterwards_counts_too() -> None:
    dag = dag_in(f"""
        {IMPORTS.replace(chr(10), chr(10) + "        ")}
        with DAG("d"):
            a = EmptyOperator(task_id="a")
            b = BashOperator(task_id="b", bash_command="x")
            b.bash_command = a.output
    """)
    assert to_plan(dag).tasks[1].upstream == ("a",)
