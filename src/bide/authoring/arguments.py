"""The arguments that every operator takes: their names and types, what they are by default, and what they may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Required, TypeAlias, TypedDict

from bide.authoring import checks
from bide.authoring.asset import assets
from bide.model.plan import WeightRule
from bide.model.trigger_rules import TriggerRule

if TYPE_CHECKING:
    from bide.authoring.context import Context
    from bide.authoring.dag import DAG
    from bide.authoring.group import TaskGroup

Hook: TypeAlias = "Callable[[Context], object]"
Callbacks: TypeAlias = "Hook | Sequence[Hook] | None"


class TaskArguments(TypedDict, total=False):
    """What can be said of every task beside its id. The names and meanings are those that Airflow has for them."""

    dag: DAG | None
    task_group: TaskGroup | None
    default_args: Mapping[str, Any] | None
    owner: str
    # How it is tried.
    retries: int | None
    retry_delay: timedelta | float
    retry_exponential_backoff: bool
    max_retry_delay: timedelta | float | None
    retry_jitter: bool
    execution_timeout: timedelta | None
    # When it may start.
    trigger_rule: TriggerRule | str
    depends_on_past: bool
    wait_for_downstream: bool
    pool: str | None
    pool_slots: int
    priority_weight: int
    weight_rule: WeightRule | str
    queue: str
    executor: str | None
    max_active_tis_per_dag: int | None
    max_active_tis_per_dagrun: int | None
    # What it takes and leaves.
    params: Mapping[str, Any] | None
    do_xcom_push: bool
    multiple_outputs: bool
    inlets: Any
    outlets: Any
    render_template_as_native_obj: bool | None
    map_index_template: str | None
    # Who is called.
    on_execute_callback: Callbacks
    on_success_callback: Callbacks
    on_failure_callback: Callbacks
    on_retry_callback: Callbacks
    on_skipped_callback: Callbacks
    pre_execute: Hook | None
    post_execute: Callable[[Context, Any], object] | None
    # What people read.
    task_display_name: str | None
    doc: str | None
    doc_md: str | None
    doc_json: str | None
    doc_yaml: str | None
    doc_rst: str | None
    # Taken so that files move; see docs/authoring.md for what becomes of each.
    start_date: datetime | None
    end_date: datetime | None
    executor_config: Mapping[str, Any] | None
    ignore_first_depends_on_past: bool
    wait_for_past_depends_before_skipping: bool
    allow_nested_operators: bool
    logger_name: str | None
    email: str | Sequence[str] | None
    email_on_failure: bool
    email_on_retry: bool
    run_as_user: str | None
    resources: Mapping[str, Any] | None
    sla: timedelta | None


class OperatorArguments(TaskArguments, total=False):
    """What can be said of every task."""

    task_id: Required[str]


_MAYBE_TEXT = checks.or_none(checks.text)
_MAYBE_LIMIT = checks.or_none(checks.whole(1))
_CALLBACKS = checks.or_none(checks.functions)
_ASSETS = checks.or_none(assets)

RULES: dict[str, tuple[Any, checks.Check]] = {
    "owner": ("bide", checks.text),
    "retries": (0, lambda name, given: checks.whole(0)(name, 0 if given is None else given)),
    "retry_delay": (timedelta(minutes=5), checks.duration),
    "retry_exponential_backoff": (False, checks.yes_or_no),
    "max_retry_delay": (None, checks.or_none(checks.duration)),
    "retry_jitter": (False, checks.yes_or_no),
    "execution_timeout": (None, checks.or_none(checks.duration)),
    "trigger_rule": (TriggerRule.ALL_SUCCESS, checks.choice(TriggerRule)),
    "depends_on_past": (False, checks.yes_or_no),
    "wait_for_downstream": (False, checks.yes_or_no),
    "pool": ("default_pool", lambda name, given: "default_pool" if given is None else checks.text(name, given)),
    "pool_slots": (1, checks.whole(1)),
    "priority_weight": (1, checks.whole(-(2**31) + 1)),
    "weight_rule": (WeightRule.DOWNSTREAM, checks.choice(WeightRule)),
    "queue": ("default", checks.text),
    "executor": (None, _MAYBE_TEXT),
    "max_active_tis_per_dag": (None, _MAYBE_LIMIT),
    "max_active_tis_per_dagrun": (None, _MAYBE_LIMIT),
    "params": (None, lambda name, given: MappingProxyType(checks.a_dict(name, given))),
    "do_xcom_push": (True, checks.yes_or_no),
    "multiple_outputs": (False, checks.yes_or_no),
    "inlets": (None, _ASSETS),
    "outlets": (None, _ASSETS),
    "render_template_as_native_obj": (None, checks.or_none(checks.yes_or_no)),
    "map_index_template": (None, _MAYBE_TEXT),
    "on_execute_callback": (None, _CALLBACKS),
    "on_success_callback": (None, _CALLBACKS),
    "on_failure_callback": (None, _CALLBACKS),
    "on_retry_callback": (None, _CALLBACKS),
    "on_skipped_callback": (None, _CALLBACKS),
    "task_display_name": (None, _MAYBE_TEXT),
    "doc": (None, _MAYBE_TEXT),
    "doc_md": (None, _MAYBE_TEXT),
    "doc_json": (None, _MAYBE_TEXT),
    "doc_yaml": (None, _MAYBE_TEXT),
    "doc_rst": (None, _MAYBE_TEXT),
    "start_date": (None, checks.or_none(checks.moment)),
    "end_date": (None, checks.or_none(checks.moment)),
    "executor_config": (None, checks.anything),
    "ignore_first_depends_on_past": (True, checks.yes_or_no),
    "wait_for_past_depends_before_skipping": (False, checks.yes_or_no),
    "allow_nested_operators": (True, checks.yes_or_no),
    "logger_name": (None, _MAYBE_TEXT),
    "email": (None, checks.anything),
    "email_on_failure": (True, checks.yes_or_no),
    "email_on_retry": (True, checks.yes_or_no),
    "run_as_user": (None, checks.only_unset("every task runs as the user of its worker.")),
    "resources": (None, checks.only_unset("use a queue or an executor that has what the task needs.")),
    "sla": (None, checks.only_unset("use execution_timeout, or dagrun_timeout of the DAG.")),
}
"""What each argument is by default, and how it is checked. Every name is also an attribute of the operator."""

DEFAULTS: Mapping[str, Any] = {name: check(name, default) for name, (default, check) in RULES.items()}
"""What each argument is by default, as the engine keeps it."""

HOOKS = ("pre_execute", "post_execute")
"""Functions that are called around `execute`; methods of these names are there already."""

PLACING = ("task_id", "dag", "task_group", "default_args")
"""Arguments that say where a task stands, and so mean the task as a whole also where it is mapped."""

COMMON = frozenset((*PLACING, *HOOKS, *RULES))
"""The names of all arguments that every operator takes."""

OLD_NAMES = {
    "task_concurrency": "max_active_tis_per_dag",
    "execution_date": "logical_date",
    "schedule_interval": "schedule",
    "timetable": "schedule",
    "concurrency": "max_active_tasks",
    "fail_stop": "fail_fast",
}
"""Names that Airflow once had, and what they are called today."""
