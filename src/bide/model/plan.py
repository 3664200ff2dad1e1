"""The plan: the stored shape of a DAG, written by the DAG processor and read by everybody else.

Pure data: it holds names and numbers, never an object or a function of the user. Equal plans encode to
equal bytes, so a changed DAG is found by comparing text. Every field is written, also one that has its default:
a plan means the same after a default has changed. Unknown fields are ignored when decoding, so a service of an
older version reads the plans of a newer one. What a plan must keep to be run stands in `check`.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bide.errors import PlanError
from bide.model.retry import RetryPolicy
from bide.model.trigger_rules import TriggerRule
from bide.model.wait import Wait

SKIPS_KEY = "skips"
"""The XCom in which a branching task leaves the ids of the tasks that are to be skipped, as a JSON list."""


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


class SchedulePlan(Struct, frozen=True, kw_only=True):
    """When runs are launched. The timetable named by `kind` knows what its `arguments` mean."""

    kind: str = "none"
    arguments: dict[str, Any] = {}
    summary: str = ""


class ParamPlan(Struct, frozen=True, kw_only=True):
    """One parameter of a run: what it is without anybody's word, and what a person may say instead, as JSON schema."""

    default: Any = None
    required: bool = False
    schema: dict[str, Any] = {}
    description: str | None = None


class GroupPlan(Struct, frozen=True, kw_only=True):
    """A group of tasks, perhaps within another group. It is there for the eye: dependencies stand at the tasks."""

    group_id: str
    parent: str | None = None
    display_name: str | None = None
    tooltip: str | None = None


class TaskPlan(Struct, frozen=True, kw_only=True):
    """One task of a DAG: everything that is decided about it without running its author's code."""

    task_id: str
    operator: str
    display_name: str | None = None
    group: str | None = None
    upstream: tuple[str, ...] = ()
    trigger_rule: TriggerRule = TriggerRule.ALL_SUCCESS
    retry: RetryPolicy = RetryPolicy()
    is_empty: bool = False
    # It says by its XCom `SKIPS_KEY` which tasks after it are to be skipped.
    branches: bool = False
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
    soft_fail: bool = False

    deferrable: bool = False
    mapped: MapPlan | None = None
    start_from_trigger: Wait | None = None
    start_is_templated: bool = False
    callbacks: frozenset[Callback] = frozenset()
    outlets: tuple[str, ...] = ()
    owner: str = "bide"
    doc: str | None = None


class DagPlan(Struct, frozen=True, kw_only=True):
    """One DAG as it was written at one moment. `tasks` keep the order of the file."""

    dag_id: str
    tasks: tuple[TaskPlan, ...]
    groups: tuple[GroupPlan, ...] = ()
    fileloc: str | None = None
    display_name: str | None = None
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
    is_paused_upon_creation: bool | None = None
    params: dict[str, ParamPlan] = {}
    tags: tuple[str, ...] = ()
    owner: str = "bide"
    description: str | None = None
    doc: str | None = None


_decoder = msgspec.json.Decoder(DagPlan)


def encode_plan(plan: DagPlan) -> bytes:
    """Write a plan as JSON, equal plans equally."""
    try:
        return msgspec.json.encode(plan, order="deterministic")
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise PlanError(f"DAG {plan.dag_id!r} holds what JSON cannot: {error}.") from error


def decode_plan(text: bytes | str) -> DagPlan:
    """Read a plan that `encode_plan` of this or another version wrote."""
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise PlanError(f"The stored plan cannot be read: {error}.") from error
