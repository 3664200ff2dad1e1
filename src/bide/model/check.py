"""What a plan must keep to be run. Everything that the database or the scheduler would stumble over stops here."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from difflib import get_close_matches
from itertools import count, islice
from typing import NamedTuple

from bide.errors import PlanError
from bide.model.graph import WEIGHT_LIMIT, topological
from bide.model.plan import DagPlan, TaskPlan
from bide.model.timetable import problems_of_schedule
from bide.model.trigger_rules import TriggerRule
from bide.model.wait import LONGEST_ID, LONGEST_WAIT, is_name

PROBLEMS_SHOWN = 10
MOST_NESTED = 20

_ID = re.compile(r"[\w.-]*\w[\w.-]*")  # not dots alone: ids become names of files
_MOST = 2**31 - 1
_SHOWN_OF_ID = 60


class Problem(NamedTuple):
    """One sentence about a plan that cannot be run, and the task it is about."""

    text: str
    task_id: str | None = None


def check(plan: DagPlan) -> None:
    """Refuse a plan that cannot be run, and say in sentences what is wrong with it."""
    found = problems(plan)
    if found:
        raise PlanError("\n".join(problem.text for problem in found))
    topological(plan)


def problems(plan: DagPlan) -> list[Problem]:
    """List what is wrong with a plan, circles apart, but not more than a person would read."""
    return list(islice(_problems(plan), PROBLEMS_SHOWN))


def _problems(plan: DagPlan) -> Iterator[Problem]:
    yield from map(Problem, _in_dag(plan))
    tasks = {task.task_id: task for task in plan.tasks}
    for task_id, times in Counter(task.task_id for task in plan.tasks).items():
        if times > 1:
            free = next(name for number in count(2) if (name := f"{task_id}_{number}") not in tasks)
            text = f"{times} tasks have the id {_quoted(task_id)}; call the second one {_quoted(free)}, for instance."
            yield Problem(text, task_id)
    yield from map(Problem, _in_groups(plan, tasks))
    for task in plan.tasks:
        yield from (Problem(text, task.task_id) for text in _in_id("task_id", task.task_id))
        named = f"Task {_quoted(task.task_id)}"
        for found in (
            _in_upstream(task, tasks),
            _in_roles(task, tasks),
            _in_numbers(task),
            _in_names(task),
        ):
            yield from (Problem(f"{named}: {text}", task.task_id) for text in found)


def _in_dag(plan: DagPlan) -> Iterator[str]:
    yield from _in_id("dag_id", plan.dag_id)
    yield from _out_of_range("max_active_runs", plan.max_active_runs)
    yield from _out_of_range("max_active_tasks", plan.max_active_tasks)
    yield from _no_duration("dagrun_timeout", plan.dagrun_timeout)
    dates = {"start_date": plan.start_date, "end_date": plan.end_date}
    naive = [name for name, date in dates.items() if date is not None and date.utcoffset() is None]
    for name in naive:
        yield f"{name} has no time zone; say which one is meant."
    if plan.start_date and plan.end_date and not naive and plan.end_date < plan.start_date:
        yield "end_date lies before start_date, so no run would ever be launched."
    yield from problems_of_schedule(plan)


def _in_id(name: str, given: str) -> Iterator[str]:
    if not given:
        yield f"{name} is empty; give it a name."
    elif not _ID.fullmatch(given):
        yield f"{name} {_quoted(given)} must be made of letters, digits, '_', '-' and '.', and not of dots alone."
    elif len(given.encode()) > LONGEST_ID:
        yield f"{name} {_quoted(given)} has {len(given.encode())} bytes; {LONGEST_ID} are the most."


def _in_groups(plan: DagPlan, tasks: dict[str, TaskPlan]) -> Iterator[str]:
    parents = {group.group_id: group.parent for group in plan.groups}
    if len(parents) < len(plan.groups):
        yield "Two task groups have one id; give each its own."
    for group_id in parents:
        yield from _in_id("group_id", group_id)
        if group_id in tasks:
            yield f"{_quoted(group_id)} is the id of a task and of a task group; call one of them otherwise."
        if len(list(islice(_above(group_id, parents), MOST_NESTED))) == MOST_NESTED:
            yield f"Task group {_quoted(group_id)} lies within itself, or within {MOST_NESTED} others; take it out."
    named = {group.parent for group in plan.groups} | {task.group for task in plan.tasks}
    for missing in sorted({name for name in named if name is not None} - parents.keys()):
        yield f"There is no task group {_quoted(missing)}{_hint(missing, parents)}"


def _above(group_id: str, parents: dict[str, str | None]) -> Iterator[str]:
    while (parent := parents.get(group_id)) is not None:
        yield parent
        group_id = parent


def _in_upstream(task: TaskPlan, tasks: dict[str, TaskPlan]) -> Iterator[str]:
    for upstream_id, times in Counter(task.upstream).items():
        if upstream_id == task.task_id:
            yield "it waits for itself; take that dependency away."
        elif upstream_id not in tasks:
            yield f"it waits for {_quoted(upstream_id)}, which is not in the DAG{_hint(upstream_id, tasks)}"
        elif times > 1:
            yield f"it names {_quoted(upstream_id)} {times} times as its upstream; once is enough."
    sources = [source for argument in task.mapped.inputs for source in argument.sources] if task.mapped else []
    for source in sources:
        if source.task_id is not None and source.task_id not in task.upstream:
            yield f"it is mapped over {_quoted(source.task_id)}, so it must come after that task."


def _in_roles(task: TaskPlan, tasks: dict[str, TaskPlan]) -> Iterator[str]:
    if task.is_setup and task.is_teardown:
        yield "it cannot be a setup and a teardown; make it two tasks."
    if task.on_failure_fail_dagrun and not task.is_teardown:
        yield "on_failure_fail_dagrun is for teardowns; the failure of other tasks counts anyway."
    if task.is_teardown and task.trigger_rule is not TriggerRule.ALL_DONE_SETUP_SUCCESS:
        yield f"it is a teardown, so its trigger rule must be {TriggerRule.ALL_DONE_SETUP_SUCCESS}."
    if task.is_teardown or task.trigger_rule is TriggerRule.ALL_SUCCESS:
        return
    for upstream_id in task.upstream:
        if upstream_id in tasks and tasks[upstream_id].is_setup:
            yield (
                f"it comes right after the setup {_quoted(upstream_id)}, so its trigger rule must be "
                f"{TriggerRule.ALL_SUCCESS}: without what the setup prepares it cannot run."
            )


def _in_numbers(task: TaskPlan) -> Iterator[str]:
    yield from _out_of_range("pool_slots", task.pool_slots)
    yield from _out_of_range("priority_weight", task.priority_weight, -WEIGHT_LIMIT, WEIGHT_LIMIT)
    yield from _out_of_range("max_active_tis_per_dag", task.max_active_tis_per_dag)
    yield from _out_of_range("max_active_tis_per_dagrun", task.max_active_tis_per_dagrun)
    yield from _no_duration("execution_timeout", task.execution_timeout)
    yield from _no_duration("timeout of the sensor", task.sensor_timeout)


def _in_names(task: TaskPlan) -> Iterator[str]:
    names = {"operator": task.operator, "pool": task.pool, "queue": task.queue, "executor": task.executor}
    for name, given in names.items():
        if given is not None and not is_name(given):
            yield f"{name} {_quoted(given)} must be printable and have 1 to {LONGEST_ID} bytes."


def _out_of_range(name: str, number: int | None, least: int = 1, most: int = _MOST) -> Iterator[str]:
    if number is not None and not least <= number <= most:
        yield f"{name} is {number}; it must lie between {least} and {most}."


def _no_duration(name: str, duration: timedelta | None) -> Iterator[str]:
    if duration is not None and not timedelta(0) < duration <= LONGEST_WAIT:
        yield f"{name} is {duration}; it must be more than nothing and at most {LONGEST_WAIT.days} days."


def _hint(given: str, known: Iterable[str]) -> str:
    near = get_close_matches(given, known, n=1)
    return f"; did you mean {_quoted(near[0])}?" if near else "."


def _quoted(given: str) -> str:
    return repr(given if len(given) <= _SHOWN_OF_ID else f"{given[:_SHOWN_OF_ID]}…")
