"""What a task may know about itself and its run: the context of `execute`, of functions, templates and callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypedDict, cast

from bide.exceptions import TaskError

if TYPE_CHECKING:
    from pendulum import DateTime

    from bide.authoring.accessors import ConnectionAccessor, VariableAccessor
    from bide.authoring.dag import DAG
    from bide.authoring.instance import DagRun, RuntimeTaskInstance
    from bide.authoring.operator import BaseOperator


class Context(TypedDict, total=False):
    """The names that a task can use. Those from `ds` to `ts_nodash_with_tz` are there if the run has a logical date."""

    conn: ConnectionAccessor
    dag: DAG
    dag_run: DagRun
    data_interval_start: DateTime | None
    data_interval_end: DateTime | None
    inlets: list[Any]
    macros: ModuleType
    map_index_template: str | None
    outlets: list[Any]
    params: dict[str, Any]
    run_id: str
    start_date: DateTime
    task: BaseOperator
    task_instance: RuntimeTaskInstance
    task_instance_key_str: str
    templates_dict: dict[str, Any] | None
    ti: RuntimeTaskInstance
    try_number: int
    var: VariableAccessor

    ds: str
    ds_nodash: str
    logical_date: DateTime | None
    ts: str
    ts_nodash: str
    ts_nodash_with_tz: str

    # Of the last run before this one that succeeded.
    prev_data_interval_start_success: DateTime | None
    prev_data_interval_end_success: DateTime | None
    prev_start_date_success: DateTime | None
    prev_end_date_success: DateTime | None

    # In callbacks only.
    exception: str | BaseException | None
    reason: str | None
    # In the method that a task goes on in.
    event: Any


CONTEXT_KEYS = frozenset(Context.__annotations__)
"""Every name of a context. Functions may take them as arguments."""


class LazyContext(dict[str, Any]):
    """A context some of whose values are only made, or fetched from the engine, when somebody asks for them."""

    def __init__(self, known: dict[str, Any], later: Mapping[str, Callable[[Any], Any]], of: Any) -> None:
        """`later` has for each name a function that makes the value of it out of `of`."""
        super().__init__({**known, **dict.fromkeys(later)})
        self._later, self._of = dict(later), of

    def __getitem__(self, name: str) -> Any:
        if name in self._later:
            self[name] = self._later[name](self._of)
        return super().__getitem__(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._later.pop(name, None)
        super().__setitem__(name, value)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or the default."""
        return self[name] if super().__contains__(name) else default

    # Because of this, `dict(context)` and `f(**context)` go through `__getitem__` too.
    def __iter__(self) -> Iterator[str]:
        return super().__iter__()

    def values(self) -> Any:
        """Return all values."""
        return [self[name] for name in self]

    def items(self) -> Any:
        """Return all names with their values."""
        return [(name, self[name]) for name in self]

    def copy(self) -> dict[str, Any]:
        """Return a dict with all values."""
        return dict(self)


_current: list[Context] = []


def set_current(context: Context | None) -> None:
    """Say which context tasks find by `get_current_context`."""
    _current[:] = [] if context is None else [context]


@contextmanager
def aside() -> Iterator[None]:
    """Let other tasks be run in the middle of one, which finds its context again afterwards."""
    mine = _current[:]
    try:
        yield
    finally:
        _current[:] = mine


def get_current_context() -> Context:
    """Return the context of the task that is being run."""
    if not _current:
        raise TaskError("There is a context only while a task runs; call get_current_context() within one.")
    return _current[-1]


@dataclass(frozen=True)
class ParsingContext:
    """Which DAG and which task of a file are wanted; None means all of them."""

    dag_id: str | None = None
    task_id: str | None = None


def get_parsing_context() -> ParsingContext:
    """Tell what of a file is wanted while it is read: always all of it, for one process serves all its DAGs."""
    return ParsingContext()


def wanted_by(names: frozenset[str] | None, context: Context) -> dict[str, Any]:
    """Choose what a function has asked for by the names of its arguments; None stands for everything."""
    known = cast("dict[str, Any]", context)
    return dict(known) if names is None else {name: known[name] for name in names if name in known}
