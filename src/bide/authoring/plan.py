"""From a DAG as its author has written it to the plan that is stored."""

from __future__ import annotations

from datetime import timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from bide.authoring.arguments import RULES
from bide.authoring.asset import asset_name
from bide.authoring.checks import duration
from bide.authoring.construction import taken_by
from bide.authoring.dag import DAG
from bide.authoring.group import TaskGroup
from bide.authoring.mapping import MappedOperator
from bide.authoring.node import Node
from bide.authoring.operator import BaseOperator
from bide.authoring.params import Param, ParamsDict
from bide.authoring.place import mistake
from bide.authoring.sensor import BaseSensorOperator
from bide.authoring.starting import planned_start
from bide.authoring.values import in_utc
from bide.errors import CircleError, PlanError
from bide.exceptions import TaskError
from bide.model.check import problems
from bide.model.graph import topological
from bide.model.plan import Callback, DagPlan, GroupPlan, ParamPlan, TaskPlan, encode_plan
from bide.model.retry import RetryPolicy

if TYPE_CHECKING:
    from datetime import datetime

_ALMOST = 0.8
"""How near a misspelt word is to the right one, where an unknown word may be right as well."""

CALLBACKS = {
    Callback.EXECUTE: "on_execute_callback",
    Callback.SUCCESS: "on_success_callback",
    Callback.FAILURE: "on_failure_callback",
    Callback.RETRY: "on_retry_callback",
    Callback.SKIPPED: "on_skipped_callback",
}
"""Under which name an author gives the functions that are called at a moment."""


def to_plan(dag: DAG) -> DagPlan:
    """Turn a DAG into its plan, or refuse it with every mistake in it and where that stands."""
    _refuse_odd_defaults(dag)
    if dag.schedule.kind != "none":
        _refuse_unmet_params(dag)
    plan = DagPlan(
        dag_id=dag.dag_id,
        tasks=tuple(_task_plan(task) for task in dag.tasks),
        groups=tuple(_group_plan(group) for group in dag.groups.values()),
        fileloc=dag.fileloc,
        display_name=dag.dag_display_name,
        schedule=dag.schedule,
        timezone=dag.zone,
        start_date=_date(dag, dag.start_date),
        end_date=_date(dag, dag.end_date),
        catchup=dag.catchup,
        max_active_runs=_most_runs(dag),
        max_active_tasks=dag.max_active_tasks,
        dagrun_timeout=dag.dagrun_timeout,
        fail_fast=dag.fail_fast,
        callbacks=_callbacks(dag),
        is_paused_upon_creation=dag.is_paused_upon_creation,
        params={name: _param_plan(param) for name, param in dag.params.params().items()},
        tags=tuple(sorted(set(dag.tags))),
        owner=", ".join(sorted({task.owner for task in dag.tasks})) or dag.default_args.get("owner", "bide"),
        description=dag.description,
        doc=dag.doc_md,
    )
    _refuse_what_cannot_run(dag, plan)
    encode_plan(plan)
    return plan


def _task_plan(task: Node) -> TaskPlan:
    checked = {name: task.checked(name, getattr(task, name), task.place) for name in RULES}
    try:
        retry = RetryPolicy(
            retries=checked["retries"],
            delay=checked["retry_delay"],
            exponential=checked["retry_exponential_backoff"],
            max_delay=checked["max_retry_delay"],
            jitter=checked["retry_jitter"],
        )
    except PlanError as error:
        raise task.mistake(str(error), task.place) from None
    _refuse_own_dates(task)
    ParamsDict(task.params).refuse_bad_defaults(f"Task {task.task_id!r}", task.place)
    sensor = issubclass(_class(task), BaseSensorOperator)
    start, start_is_templated = planned_start(task, _has_hooks_before(task))
    return TaskPlan(
        task_id=task.task_id,
        operator=task.operator_name,
        display_name=checked["task_display_name"],
        group=None if task.task_group is None else task.task_group.group_id,
        upstream=tuple(task.upstream),
        trigger_rule=checked["trigger_rule"],
        retry=retry,
        is_empty=_needs_no_worker(task),
        branches=_class(task).branches,
        depends_on_past=checked["depends_on_past"] or checked["wait_for_downstream"],
        wait_for_downstream=checked["wait_for_downstream"],
        pool=checked["pool"],
        pool_slots=checked["pool_slots"],
        priority_weight=checked["priority_weight"],
        weight_rule=checked["weight_rule"],
        queue=checked["queue"],
        executor=checked["executor"],
        max_active_tis_per_dag=checked["max_active_tis_per_dag"],
        max_active_tis_per_dagrun=checked["max_active_tis_per_dagrun"],
        execution_timeout=checked["execution_timeout"],
        sensor_timeout=_sensor_timeout(task) if sensor else None,
        soft_fail=sensor and bool(_argument(task, "soft_fail") or _argument(task, "never_fail")),
        deferrable=bool(_argument(task, "deferrable")),
        mapped=task.expansion.plan if isinstance(task, MappedOperator) else None,
        start_from_trigger=start,
        start_is_templated=start_is_templated,
        callbacks=_callbacks(task),
        outlets=tuple(asset_name(outlet) for outlet in checked["outlets"] or ()),
        owner=checked["owner"],
        doc=next((checked[name] for name in RULES if name.startswith("doc") and checked[name]), None),
    )


def _class(task: Node) -> type[BaseOperator]:
    kind = task.operator_class if isinstance(task, MappedOperator) else type(task)
    assert issubclass(kind, BaseOperator)
    return kind


def _argument(task: Node, name: str) -> Any:
    assert isinstance(task, BaseOperator | MappedOperator)
    return task.argument(name)


def _sensor_timeout(task: Node) -> timedelta:
    timeout: timedelta = duration("timeout", _argument(task, "timeout"))
    return timeout


def _needs_no_worker(task: Node) -> bool:
    called = [*(CALLBACKS[when] for when in (Callback.EXECUTE, Callback.SUCCESS)), "pre_execute_hook"]
    asked = any(getattr(task, name) for name in (*called, "post_execute_hook", "outlets"))
    return not task.is_mapped and _class(task).is_empty and not asked


def _has_hooks_before(task: Node) -> bool:
    """Tell whether somebody wants to be called before the task begins, for which a worker is needed."""
    return bool(getattr(task, CALLBACKS[Callback.EXECUTE]) or task.pre_execute_hook)


def _callbacks(owner: DAG | Node) -> frozenset[Callback]:
    return frozenset(when for when, name in CALLBACKS.items() if getattr(owner, name, None))


def _group_plan(group: TaskGroup) -> GroupPlan:
    return GroupPlan(
        group_id=group.group_id,
        parent=None if group.parent_group is None else group.parent_group.group_id,
        display_name=group.group_display_name or None,
        tooltip=group.tooltip or None,
    )


def _param_plan(param: Param) -> ParamPlan:
    return ParamPlan(
        default=param.value if param.has_value else None,
        required=not param.has_value,
        schema=param.schema,
        description=param.description,
    )


def _date(dag: DAG, date: datetime | None) -> datetime | None:
    try:
        return in_utc(date)
    except (OverflowError, TaskError):
        raise mistake(f"DAG {dag.dag_id!r}: {date} is no date in UTC.", dag.place) from None


def _most_runs(dag: DAG) -> int:
    if dag.schedule.kind == "continuous":
        if (dag.max_active_runs or 1) > 1:
            raise mistake(
                f"DAG {dag.dag_id!r}: with '@continuous' only one run goes on at a time; take max_active_runs away.",
                dag.place,
            )
        return 1
    return dag.max_active_runs or 16


# What cannot run. ---------------------------------------------------------------------------------------------


def _refuse_odd_defaults(dag: DAG) -> None:
    """Refuse a misspelt default argument. Others that no operator here takes do no harm: they are often shared."""
    known = set().union(*(taken_by(_class(task)).names for task in dag.tasks))
    known |= set(RULES)
    for name in dag.default_args.keys() - known:
        for near in get_close_matches(name, known, n=1, cutoff=_ALMOST):
            raise mistake(
                f"DAG {dag.dag_id!r}: no task takes {name!r} from default_args; did you mean {near!r}?", dag.place
            )


def _refuse_unmet_params(dag: DAG) -> None:
    for name, param in dag.params.params().items():
        if not param.has_value:
            raise mistake(
                f"DAG {dag.dag_id!r}: runs that its schedule launches would have no value for param "
                f"{name!r}; give it a default, or take the schedule away.",
                dag.place,
            )


def _refuse_own_dates(task: Node) -> None:
    for name in ("start_date", "end_date"):
        own = getattr(task, name)
        if own is not None and own != getattr(task.dag, name):
            raise task.mistake(f"a task has no {name} of its own; give it to the DAG.", task.place)


def _refuse_what_cannot_run(dag: DAG, plan: DagPlan) -> None:
    if dag.catchup and dag.start_date is None:
        raise mistake(f"DAG {dag.dag_id!r}: catchup needs a start_date to begin from.", dag.place)
    found = problems(plan)
    if found:
        told = []
        for problem in found:
            place = dag.place if problem.task_id is None else dag.get_task(problem.task_id).place
            told.append(f"{place}: {problem.text}")
        raise PlanError("\n".join(told))
    try:
        topological(plan)
    except CircleError as error:
        # The line that closes the circle is the one that was written last.
        pairs = zip(error.circle, (*error.circle[1:], error.circle[0]), strict=True)
        places = [dag.get_task(before).downstream[after] for before, after in pairs]
        raise mistake(str(error), max(places, key=lambda place: place.line)) from None
