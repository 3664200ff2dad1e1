"""The plan: the stored shape of a DAG, written by the DAG processor and read by everybody else.

Pure data: it holds names and numbers, never an object or a function of the user. Equal plans encode to
equal bytes, so a changed DAG is found by comparing text; unknown fields are ignored when decoding, so a
service of an older version reads the plans of a newer one.
"""

import difflib
import re
from collections import Counter, deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bide.errors import PlanError
from bide.model.retry import RetryPolicy
from bide.model.trigger_rules import TriggerRule

LONGEST_ID = 250
PROBLEMS_SHOWN = 10
WEIGHT_LIMIT = 2**31 - 1
"""Priority weights are kept within a database integer."""

_ID = re.compile(r"[\w.-]+")


class WeightRule(StrEnum):
    """Whose weights add up to the priority of a task."""

    ABSOLUTE = "absolute"  # only its own
    DOWNSTREAM = "downstream"  # its own and those of all that come after it
    UPSTREAM = "upstream"  # its own and those of all that come before it


class Callback(StrEnum):
    """The moments at which a task's or a DAG's author may have asked to be called."""

    EXECUTE = "execute"
    SUCCESS = "success"
    FAILURE = "failure"
    RETRY = "retry"
    SKIPPED = "skipped"


class MapSource(Struct, frozen=True, kw_only=True):
    """Where the number of elements comes from: a length known from the file, or the XCom of a task."""

    length: int | None = None
    task_id: str | None = None
    key: str = "return_value"


class MapInput(Struct, frozen=True, kw_only=True):
    """One mapped argument. Several sources were zipped or concatenated by the author."""

    name: str
    sources: tuple[MapSource, ...]
    combine: Literal["zip", "zip_longest", "concat"] = "zip"


class MapPlan(Struct, frozen=True, kw_only=True):
    """How a mapped task expands: over the cross product of its inputs, or over one list of keyword sets."""

    inputs: tuple[MapInput, ...]
    kind: Literal["expand", "expand_kwargs"] = "expand"


class StartTriggerPlan(Struct, frozen=True, kw_only=True):
    """The wait with which a task starts without a worker; arguments are encoded text."""

    classpath: str
    kwargs: str
    next_method: str
    next_kwargs: str
    timeout: timedelta | None = None
    templated: bool = False


class SchedulePlan(Struct, frozen=True, kw_only=True):
    """When runs are launched. The timetable named by `kind` knows what its `arguments` mean."""

    kind: str = "none"
    arguments: dict[str, Any] = {}
    summary: str = ""


class TaskPlan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task of a DAG: everything that is decided about it without running its author's code."""

    task_id: str
    operator: str
    upstream: tuple[str, ...] = ()
    group: str | None = None
    trigger_rule: TriggerRule = TriggerRule.ALL_SUCCESS
    retry: RetryPolicy = RetryPolicy()
    is_empty: bool = False
    is_setup: bool = False
    is_teardown: bool = False
    on_failure_fail_dagrun: bool = False
    depends_on_past: bool = False
    wait_for_downstream: bool = False

    pool: str = "default_pool"
    pool_slots: int = 1
    priority_weight: int = 1
    weight_rule: WeightRule = WeightRule.DOWNSTREAM
    queue: str = "default"
    executor: str | None = None
    max_active_tis_per_dag: int | None = None
    max_active_tis_per_dagrun: int | None = None
    execution_timeout: timedelta | None = None
    sensor_timeout: timedelta | None = None

    deferrable: bool = False
    mapped: MapPlan | None = None
    start_from_trigger: StartTriggerPlan | None = None
    callbacks: frozenset[Callback] = frozenset()
    outlets: tuple[str, ...] = ()
    owner: str = "bide"
    doc: str | None = None


class DagPlan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One DAG as it was written at one moment. `tasks` keep the order of the file."""

    dag_id: str
    tasks: tuple[TaskPlan, ...]
    schedule: SchedulePlan = SchedulePlan()
    timezone: str = "UTC"
    start_date: datetime | None = None
    end_date: datetime | None = None
    catchup: bool = False
    max_active_runs: int = 16
    max_active_tasks: int = 16
    dagrun_timeout: timedelta | None = None
    fail_fast: bool = False
    callbacks: frozenset[Callback] = frozenset()
    params: dict[str, Any] = {}
    tags: tuple[str, ...] = ()
    owner: str = "bide"
    description: str | None = None
    doc: str | None = None


_decoder = msgspec.json.Decoder(DagPlan)


def encode_plan(plan: DagPlan) -> bytes:
    """Write a plan as JSON, equal plans equally."""
    return msgspec.json.encode(plan, order="deterministic")


def decode_plan(text: bytes | str) -> DagPlan:
    """Read a plan that `encode_plan` of this or another version wrote."""
    try:
        return _decoder.decode(text)
    except msgspec.DecodeError as error:
        raise PlanError(f"The stored plan cannot be read: {error}.") from error


def check(plan: DagPlan) -> None:
    """Refuse a plan that cannot be run, and say in sentences what is wrong with it."""
    problems = list(islice(_problems(plan), PROBLEMS_SHOWN))
    if problems:
        raise PlanError("\n".join(problems))


def downstream(plan: DagPlan) -> dict[str, list[str]]:
    """List the direct downstream tasks of every task."""
    after: dict[str, list[str]] = {task.task_id: [] for task in plan.tasks}
    for task in plan.tasks:
        for upstream_id in task.upstream:
            after[upstream_id].append(task.task_id)
    return after


def leaves(plan: DagPlan) -> frozenset[str]:
    """Find the tasks that decide how a run ends: those with nothing downstream.

    Teardowns tidy up and do not count, neither as leaves nor as something downstream, unless their
    author said that their failure fails the run.
    """
    counted = [task for task in plan.tasks if not task.is_teardown or task.on_failure_fail_dagrun]
    followed = {upstream_id for task in counted for upstream_id in task.upstream}
    return frozenset(task.task_id for task in counted) - followed


def topological(plan: DagPlan) -> list[str]:
    """Order the tasks so that each comes after its upstreams; ties keep the order of the file."""
    order = _peel(plan)
    if len(order) < len(plan.tasks):
        raise PlanError(_describe_cycle(plan, set(order)))
    return order


def priority_weights(plan: DagPlan) -> dict[str, int]:
    """Compute the priority of every task from its own weight and, by its rule, those of its relatives."""
    after, order = downstream(plan), topological(plan)
    before = {task.task_id: task.upstream for task in plan.tasks}
    position = {task.task_id: place for place, task in enumerate(plan.tasks)}

    # A set of tasks is one int with a bit for each task: ten thousand tasks have up to fifty million
    # pairs of relatives, which Python could not walk one by one.
    below, above = [0] * len(order), [0] * len(order)
    for task_id in reversed(order):
        below[position[task_id]] = _with_relatives(position[task_id], [position[t] for t in after[task_id]], below)
    for task_id in order:
        above[position[task_id]] = _with_relatives(position[task_id], [position[t] for t in before[task_id]], above)

    parts = _parts_of_weights([task.priority_weight for task in plan.tasks])
    weights = {}
    for place, task in enumerate(plan.tasks):
        relatives = {WeightRule.DOWNSTREAM: below[place], WeightRule.UPSTREAM: above[place]}
        members = relatives.get(task.weight_rule, 1 << place)
        weight = sum(value * (members & holders).bit_count() for value, holders in parts.items())
        weights[task.task_id] = max(-WEIGHT_LIMIT, min(weight, WEIGHT_LIMIT))
    return weights
