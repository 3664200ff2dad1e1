"""The arguments of a DAG: their names and types, what they are by default, and what they may be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypedDict

from bide.authoring import checks
from bide.authoring.arguments import Callbacks


class DagArguments(TypedDict, total=False):
    """What can be said of a DAG. The names and meanings are those that Airflow has for them."""

    description: str | None
    schedule: Any
    start_date: datetime | None
    end_date: datetime | None
    catchup: bool
    default_args: Mapping[str, Any] | None
    params: Mapping[str, Any] | None
    tags: Collection[str] | None
    max_active_tasks: int
    max_active_runs: int | None
    dagrun_timeout: timedelta | None
    fail_fast: bool
    is_paused_upon_creation: bool | None
    on_success_callback: Callbacks
    on_failure_callback: Callbacks
    doc_md: str | None
    dag_display_name: str | None
    # Templates.
    template_searchpath: str | Iterable[str] | None
    template_undefined: type[Any] | None
    user_defined_macros: Mapping[str, Any] | None
    user_defined_filters: Mapping[str, Callable[..., Any]] | None
    jinja_environment_kwargs: Mapping[str, Any] | None
    render_template_as_native_obj: bool
    auto_register: bool
    # Taken so that files move; see docs/authoring.md for what becomes of each.
    access_control: Any
    owner_links: Mapping[str, str] | None
    max_consecutive_failed_dag_runs: int
    disable_bundle_versioning: bool
    deadline: Any
    sla_miss_callback: Any
    orientation: str
    default_view: str


_MAYBE_TEXT = checks.or_none(checks.text)
_MAYBE_DATE = checks.or_none(checks.moment)
_CALLBACKS = checks.or_none(checks.functions)

DAG_RULES: dict[str, tuple[Any, checks.Check]] = {
    "description": (None, _MAYBE_TEXT),
    "schedule": (None, checks.anything),
    "start_date": (None, _MAYBE_DATE),
    "end_date": (None, _MAYBE_DATE),
    "catchup": (False, checks.yes_or_no),
    "default_args": (None, checks.a_dict),
    "params": (None, checks.a_dict),
    "tags": (None, lambda name, given: checks.texts(name, given or [])),
    "max_active_tasks": (16, checks.whole(1)),
    "max_active_runs": (None, checks.or_none(checks.whole(1))),
    "dagrun_timeout": (None, checks.or_none(checks.duration)),
    "fail_fast": (False, checks.yes_or_no),
    "is_paused_upon_creation": (None, checks.or_none(checks.yes_or_no)),
    "on_success_callback": (None, _CALLBACKS),
    "on_failure_callback": (None, _CALLBACKS),
    "doc_md": (None, _MAYBE_TEXT),
    "dag_display_name": (None, _MAYBE_TEXT),
    "template_searchpath": (None, lambda name, given: checks.texts(name, given or [])),
    "template_undefined": (None, checks.anything),
    "user_defined_macros": (None, checks.a_dict),
    "user_defined_filters": (None, checks.a_dict),
    "jinja_environment_kwargs": (None, checks.a_dict),
    "render_template_as_native_obj": (False, checks.yes_or_no),
    "auto_register": (True, checks.yes_or_no),
    "access_control": (None, checks.anything),
    "owner_links": (None, checks.anything),
    "max_consecutive_failed_dag_runs": (0, checks.only_unset("pause the DAG in an on_failure_callback instead.")),
    "disable_bundle_versioning": (False, checks.anything),
    "deadline": (None, checks.only_unset("use dagrun_timeout instead.")),
    "sla_miss_callback": (None, checks.only_unset("use dagrun_timeout and on_failure_callback instead.")),
    "orientation": ("LR", checks.anything),
    "default_view": ("grid", checks.anything),
}
"""What each argument is by default, and how it is checked. Every name is also an attribute of the DAG."""
