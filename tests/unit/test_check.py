"""A plan that cannot be run is refused in sentences that its author can act on."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bide.errors import PlanError
from bide.model.check import MOST_NESTED, PROBLEMS_SHOWN, check
from bide.model.graph import WEIGHT_LIMIT
from bide.model.plan import DagPlan, GroupPlan, MapInput, MapPlan, MapSource, TaskPlan
from bide.model.trigger_rules import TriggerRule
from bide.model.wait import LONGEST_ID, LONGEST_WAIT

MOST = 2**31 - 1
TICK = timedelta(microseconds=1)
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def task(task_id: str, *upstream: str, **settings: Any) -> TaskPlan:
    return TaskPlan(**{"task_id": task_id, "operator": "Op", "upstream": upstream} | settings)


def dag(*tasks: TaskPlan, **settings: Any) -> DagPlan:
    return DagPlan(**{"dag_id": "d", "tasks": tasks} | settings)


def mapped(*sources: MapSource) -> MapPlan:
    return MapPlan(inputs=(MapInput(name="x", sources=sources),))


def problems(plan: DagPlan) -> list[str]:
    try:
        check(plan)
    except PlanError as refusal:
        return str(refusal).splitlines()
    return []


@pytest.mark.parametrize(
    "plan",
    [
        dag(),
        dag(task("a"), task("b", "a"), task("c", "a", "b")),
        dag(dag_id="1-two.Drei_四", start_date=NEW_YEAR, end_date=NEW_YEAR, dagrun_timeout=LONGEST_WAIT),
        dag(task("x" * LONGEST_ID, pool_slots=MOST, priority_weight=-WEIGHT_LIMIT, execution_timeout=TICK)),
        dag(task("a", max_active_tis_per_dag=1, max_active_tis_per_dagrun=1, sensor_timeout=LONGEST_WAIT)),
        dag(task("a"), task("b", "a", mapped=mapped(MapSource(task_id="a"), MapSource(length=0)))),
        dag(task("up", is_setup=True), task("a", "up"), task("b", "a", trigger_rule=TriggerRule.ALL_DONE)),
        dag(
            task("up", is_setup=True),
            task(
                "down",
                "up",
                is_teardown=True,
                trigger_rule=TriggerRule.ALL_DONE_SETUP_SUCCESS,
                on_failure_fail_dagrun=True,
            ),
        ),
        dag(task("in.a", group="in"), groups=(GroupPlan(group_id="in", parent="out"), GroupPlan(group_id="out"))),
    ],
)
def test_a_plan_that_can_be_run_is_accepted(plan: DagPlan) -> None:
    assert problems(plan) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"dag_id": ""}, "dag_id is empty; give it a name."),
        ({"dag_id": "a b"}, "dag_id 'a b' must be made of letters, digits, '_', '-' and '.', and not of dots alone."),
        ({"dag_id": ".."}, "dag_id '..' must be made of"),
        ({"dag_id": "a/b"}, "dag_id 'a/b' must be made of"),
        ({"dag_id": "a\n"}, r"dag_id 'a\n' must be made of"),
        ({"dag_id": "a\ud800"}, r"dag_id 'a\ud800' must be made of"),
        ({"dag_id": "x" * 251}, f"dag_id '{'x' * 60}…' has 251 bytes; 250 are the most."),
        ({"dag_id": "ä" * 126}, f"dag_id '{'ä' * 60}…' has 252 bytes; 250 are the most."),
        ({"max_active_runs": 0}, "max_active_runs is 0; it must lie between 1 and 2147483647."),
        ({"max_active_tasks": MOST + 1}, "max_active_tasks is 2147483648; it must lie between 1 and 2147483647."),
        ({"dagrun_timeout": timedelta(0)}, "dagrun_timeout is 0:00:00; it must be more than nothing"),
        ({"dagrun_timeout": LONGEST_WAIT + TICK}, "and at most 36500 days."),
        ({"start_date": datetime(2026, 1, 1)}, "start_date has no time zone; say which one is meant."),
        ({"end_date": datetime(2026, 1, 1), "start_date": NEW_YEAR}, "end_date has no time zone"),
        ({"start_date": NEW_YEAR, "end_date": NEW_YEAR - TICK}, "end_date lies before start_date, so no run"),
    ],
)
def test_what_is_wrong_with_a_dag_is_said(wrong: dict[str, Any], said: str) -> None:
    (problem,) = problems(dag(**wrong))
    assert said in problem


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"pool_slots": 0}, "pool_slots is 0; it must lie between 1 and 2147483647."),
        ({"pool_slots": MOST + 1}, "pool_slots is 2147483648"),
        ({"priority_weight": WEIGHT_LIMIT + 1}, "priority_weight is 2147483648; it must lie between -2147483647 and"),
        ({"priority_weight": -WEIGHT_LIMIT - 1}, "priority_weight is -2147483648"),
        ({"max_active_tis_per_dag": 0}, "max_active_tis_per_dag is 0"),
        ({"max_active_tis_per_dagrun": 0}, "max_active_tis_per_dagrun is 0"),
        ({"execution_timeout": timedelta(0)}, "execution_timeout is 0:00:00; it must be more than nothing"),
        ({"sensor_timeout": -TICK}, "timeout of the sensor is -1 day, 23:59:59.999999; it must be"),
        ({"operator": ""}, "operator '' must be printable and have 1 to 250 bytes."),
        ({"pool": "x" * 251}, f"pool '{'x' * 60}…' must be printable"),
        ({"queue": "a\0"}, r"queue 'a\x00' must be printable"),
        ({"executor": ""}, "executor '' must be printable"),
        ({"is_setup": True, "is_teardown": True, "trigger_rule": TriggerRule.ALL_DONE_SETUP_SUCCESS}, "make it two"),
        ({"is_teardown": True}, "it is a teardown, so its trigger rule must be all_done_setup_success."),
        ({"on_failure_fail_dagrun": True}, "on_failure_fail_dagrun is for teardowns"),
        ({"upstream": ("t",)}, "it waits for itself; take that dependency away."),
        ({"upstream": ("other", "other")}, "it names 'other' 2 times as its upstream; once is enough."),
        ({"upstream": ("othre",)}, "it waits for 'othre', which is not in the DAG; did you mean 'other'?"),
        ({"upstream": ("far_away",)}, "it waits for 'far_away', which is not in the DAG."),
        ({"mapped": mapped(MapSource(task_id="other"))}, "it is mapped over 'other', so it must come after that task."),
    ],
)
def test_what_is_wrong_with_a_task_is_said_with_its_name(wrong: dict[str, Any], said: str) -> None:
    (problem,) = problems(dag(task("other"), task("t", **wrong)))
    assert problem.startswith("Task 't': ")
    assert said in problem


def test_a_task_id_keeps_the_rules_of_ids() -> None:
    assert problems(dag(task("a b"))) == [
        "task_id 'a b' must be made of letters, digits, '_', '-' and '.', and not of dots alone."
    ]


def test_a_task_right_after_a_setup_needs_that_setup() -> None:
    plan = dag(task("up", is_setup=True), task("t", "up", trigger_rule=TriggerRule.ALL_DONE))
    assert problems(plan) == [
        "Task 't': it comes right after the setup 'up', so its trigger rule must be all_success: "
        "without what the setup prepares it cannot run."
    ]


def test_a_doubled_id_is_refused_with_one_that_is_free() -> None:
    plan = dag(task("a"), task("a"), task("a_2"), task("a"))
    assert problems(plan) == ["3 tasks have the id 'a'; call the second one 'a_3', for instance."]


def test_a_circle_is_refused() -> None:
    assert problems(dag(task("a", "c"), task("b", "a"), task("c", "b"))) == [
        "Tasks wait for one another in a circle: a >> b >> c >> a. Take one of these dependencies away."
    ]


def nest(depth: int) -> tuple[GroupPlan, ...]:
    return tuple(GroupPlan(group_id=f"g{n}", parent=f"g{n - 1}" if n else None) for n in range(depth))


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ((GroupPlan(group_id="a"), GroupPlan(group_id="a")), "Two task groups have one id; give each its own."),
        ((GroupPlan(group_id="a b"),), "group_id 'a b' must be made of"),
        ((GroupPlan(group_id="t"),), "'t' is the id of a task and of a task group; call one of them otherwise."),
        ((GroupPlan(group_id="a", parent="b"),), "There is no task group 'b'."),
        ((GroupPlan(group_id="inner", parent="oter"), GroupPlan(group_id="outer")), "'oter'; did you mean 'outer'?"),
        ((GroupPlan(group_id="a", parent="a"),), "Task group 'a' lies within itself"),
        (nest(MOST_NESTED + 1), "Task group 'g20' lies within itself, or within 20 others; take it out."),
    ],
)
def test_what_is_wrong_with_a_group_is_said(groups: tuple[GroupPlan, ...], said: str) -> None:
    (problem,) = problems(dag(task("t"), groups=groups))
    assert said in problem


def test_groups_may_be_nested_as_deep_as_anybody_can_read() -> None:
    assert problems(dag(groups=nest(MOST_NESTED))) == []


def test_a_task_lies_in_a_group_that_is_there() -> None:
    assert problems(dag(task("t", group="raed"), groups=(GroupPlan(group_id="read"),))) == [
        "There is no task group 'raed'; did you mean 'read'?"
    ]


def test_all_problems_are_told_at_once_up_to_a_number_that_can_be_read() -> None:
    assert len(problems(dag(task("a", pool_slots=0), task("b", "c"), dag_id=""))) == 3
    assert len(problems(dag(*(task(f"t{n}", pool_slots=0, pool="") for n in range(100))))) == PROBLEMS_SHOWN


def test_ten_thousand_tasks_are_checked_well_under_a_second() -> None:
    plan = dag(*(task(f"t{n}", *([f"t{n - 1}"] if n else [])) for n in range(10_000)))
    started = time.process_time()
    check(plan)
    assert time.process_time() - started < 1
