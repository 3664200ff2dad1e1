"""A DAG as its author writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from functools import cached_property
from importlib import import_module
from types import TracebackType
from typing import Any, Self, Unpack

from bide.authoring import scope
from bide.authoring.checks import Wrong
from bide.authoring.construction import meant
from bide.authoring.dag_arguments import DAG_RULES, DagArguments
from bide.authoring.group import TaskGroup, numbered
from bide.authoring.node import Node
from bide.authoring.params import NOTHING, Param, ParamsDict
from bide.authoring.place import here, mistake, near
from bide.authoring.port import is_answered
from bide.authoring.reference import ParamReference
from bide.authoring.results import RunResult
from bide.authoring.schedule import schedule_plan, zone_name
from bide.authoring.template import Templates


class DAG:
    """Tasks in an order, and when they are to run. `with DAG("name"):` takes in the tasks that are written below it."""

    description: str | None
    start_date: datetime | None
    end_date: datetime | None
    catchup: bool
    default_args: dict[str, Any]
    tags: Sequence[str]
    max_active_tasks: int
    max_active_runs: int | None
    dagrun_timeout: timedelta | None
    fail_fast: bool
    is_paused_upon_creation: bool | None
    on_success_callback: Sequence[Callable[..., object]] | None
    on_failure_callback: Sequence[Callable[..., object]] | None
    doc_md: str | None
    dag_display_name: str | None
    template_searchpath: Sequence[str]
    template_undefined: type[Any] | None
    user_defined_macros: Mapping[str, Any]
    user_defined_filters: Mapping[str, Callable[..., Any]]
    jinja_environment_kwargs: Mapping[str, Any]
    render_template_as_native_obj: bool
    auto_register: bool

    def __init__(self, dag_id: str, **given: Unpack[DagArguments]) -> None:
        self.place = here()
        self.fileloc = self.place.file
        for name in given:
            if name not in DAG_RULES:
                raise mistake(f"DAG has no argument {name!r}{meant(name, DAG_RULES)}")
        if not isinstance(dag_id, str) or not dag_id:
            raise mistake("A DAG needs a dag_id: a name of its own, as a text.")
        self.dag_id = dag_id
        arguments: dict[str, Any] = {**given}
        defaults = self.checked("default_args", arguments.get("default_args"))
        for name in ("start_date", "end_date"):
            arguments[name] = arguments.get(name) or defaults.get(name)
        for name, (default, _) in DAG_RULES.items():
            setattr(self, name, self.checked(name, arguments.get(name, default)))
        self.params = ParamsDict(self.checked("params", arguments.get("params")))
        self.params.refuse_bad_defaults(f"DAG {dag_id!r}")
        self.zone = "UTC" if self.timezone is None else zone_name(self.timezone)
        self.schedule = schedule_plan(arguments.get("schedule"), self.timezone)
        self.task_dict: dict[str, Node] = {}
        self.groups: dict[str, TaskGroup] = {}

    def checked(self, name: str, given: Any) -> Any:
        """Return an argument as the engine keeps it, or refuse it."""
        try:
            return DAG_RULES[name][1](name, given)
        except Wrong as wrong:
            raise mistake(f"DAG {self.dag_id!r}: {wrong}") from None

    def __enter__(self) -> Self:
        scope.enter(scope.Scope(self, None))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        scope.leave()

    @property
    def timezone(self) -> tzinfo | None:
        """The time zone that its author thinks in: that of its start date."""
        return self.start_date.tzinfo if self.start_date is not None else None

    @property
    def display_name(self) -> str:
        """What people are shown as its name."""
        return self.dag_display_name or self.dag_id

    def __repr__(self) -> str:
        return f"<DAG: {self.dag_id}>"

    # Its tasks. -----------------------------------------------------------------------------------------------

    @property
    def tasks(self) -> list[Node]:
        """All tasks, in the order of the file."""
        return list(self.task_dict.values())

    @property
    def task_ids(self) -> list[str]:
        """The ids of all tasks, in the order of the file."""
        return list(self.task_dict)

    @property
    def roots(self) -> list[Node]:
        """The tasks that come after no other."""
        return [task for task in self.tasks if not task.upstream]

    @property
    def leaves(self) -> list[Node]:
        """The tasks that come before no other."""
        return [task for task in self.tasks if not task.downstream]

    def has_task(self, task_id: str) -> bool:
        """Tell whether there is such a task."""
        return task_id in self.task_dict

    def get_task(self, task_id: str) -> Node:
        """Return a task by its id."""
        if task_id not in self.task_dict:
            raise mistake(f"DAG {self.dag_id!r} has no task {task_id!r}{near(task_id, self.task_dict)}")
        return self.task_dict[task_id]

    def add_task(self, task: Node) -> None:
        """Take a task in. Its id must be free."""
        there = self.task_dict.get(task.task_id)
        if there is not None:
            raise mistake(
                f"Task id {task.task_id!r} is taken by the task of {there.place}; call this one "
                f"{self.free_id(task.task_id)!r}, for instance."
            )
        if task.task_id in self.groups:
            raise mistake(f"{task.task_id!r} is the id of a task group already; call the task otherwise.")
        self.task_dict[task.task_id] = task

    def add_group(self, group: TaskGroup) -> None:
        """Take a group in. Its id must be free."""
        if group.group_id in self.groups or group.group_id in self.task_dict:
            kind = "task group" if group.group_id in self.groups else "task"
            raise mistake(f"{group.group_id!r} is the id of a {kind} already; call the task group otherwise.")
        self.groups[group.group_id] = group

    def free_id(self, wanted: str) -> str:
        """Return an id that no task and no group has, with a number behind it if need be."""
        return numbered(wanted, lambda name: name in self.task_dict or name in self.groups)

    # What its runs are told. ----------------------------------------------------------------------------------

    def param(self, name: str, default: Any = NOTHING) -> ParamReference:
        """Stand for a param in the arguments of a task."""
        if default is not NOTHING:
            self.params[name] = default
        elif name not in self.params:
            self.params[name] = Param()
        return ParamReference(name)

    def test(
        self,
        run_after: datetime | None = None,
        logical_date: datetime | None = None,
        run_conf: Mapping[str, Any] | None = None,
        conn_file_path: str | None = None,
        variable_file_path: str | None = None,
        use_executor: bool = False,
        mark_success_pattern: str | None = None,
    ) -> RunResult:
        """Run it to its end in this process, on the real engine, and tell how that went. No wait takes any time.

        Tasks whose ids match `mark_success_pattern` count as done without being run.
        """
        if scope.is_watched() or is_answered():
            raise mistake("dag.test() runs all tasks; call it below `if __name__ == '__main__':`.")
        if use_executor:
            raise mistake("dag.test() runs tasks in this process; take use_executor away.")
        # The engine knows what stands here, and not the other way round: a child never loads it.
        testing = import_module("bide.testing")
        given = testing.Given(run_conf or {}, logical_date, run_after, variable_file_path, conn_file_path)
        result: RunResult = testing.shown_plainly(self, given, mark_success_pattern)
        return result

    @cached_property
    def templates(self) -> Templates:
        """What its templates are rendered with."""
        return Templates(self)
