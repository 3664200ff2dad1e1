"""A task in its DAG: what operators and mapped operators have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Unpack

from bide.authoring import scope
from bide.authoring.arguments import COMMON, DEFAULTS, RULES, OperatorArguments
from bide.authoring.checks import Wrong
from bide.authoring.construction import OperatorMeta, meant
from bide.authoring.place import Place, here, mistake
from bide.authoring.relations import Relatable
from bide.authoring.xcomarg import PlainXComArg
from bide.model.plan import WeightRule
from bide.model.trigger_rules import TriggerRule

if TYPE_CHECKING:
    from bide.authoring.dag import DAG

_LATER = "setup and teardown tasks cannot be used yet. Put it in order with >> and give it trigger_rule='all_done'."


class Node(Relatable, metaclass=OperatorMeta):
    """A task: its id, its place in the order, and everything that every operator can be told."""

    takes_common_arguments: ClassVar[bool] = True
    # What people are shown as its kind, where that is not the name of its class.
    custom_operator_name: str | None = None

    task_id: str
    owner: str
    retries: int
    retry_delay: timedelta
    retry_exponential_backoff: bool
    max_retry_delay: timedelta | None
    retry_jitter: bool
    execution_timeout: timedelta | None
    trigger_rule: TriggerRule
    depends_on_past: bool
    wait_for_downstream: bool
    pool: str
    pool_slots: int
    priority_weight: int
    weight_rule: WeightRule
    queue: str
    executor: str | None
    max_active_tis_per_dag: int | None
    max_active_tis_per_dagrun: int | None
    params: Mapping[str, Any]
    do_xcom_push: bool
    multiple_outputs: bool
    inlets: Sequence[Any] | None
    outlets: Sequence[Any] | None
    render_template_as_native_obj: bool | None
    map_index_template: str | None
    on_execute_callback: Sequence[Callable[..., object]] | None
    on_success_callback: Sequence[Callable[..., object]] | None
    on_failure_callback: Sequence[Callable[..., object]] | None
    on_retry_callback: Sequence[Callable[..., object]] | None
    on_skipped_callback: Sequence[Callable[..., object]] | None
    task_display_name: str | None
    doc: str | None
    doc_md: str | None
    doc_json: str | None
    doc_yaml: str | None
    doc_rst: str | None
    start_date: datetime | None
    end_date: datetime | None
    email: Any
    email_on_failure: bool
    email_on_retry: bool

    def __init__(self, **given: Unpack[OperatorArguments]) -> None:
        self.place = here()
        arguments: dict[str, Any] = {**self._common_defaults(), **given}
        for name in arguments:
            if name not in COMMON:
                raise mistake(f"{type(self).__name__} has no argument {name!r}{meant(name, COMMON)}")
        if not isinstance(arguments.get("task_id"), str):
            raise mistake(f"{type(self).__name__} needs task_id: a name of its own, as a text.")
        dag, group = scope.home(arguments.get("dag"), arguments.get("task_group"))
        self.task_id = arguments["task_id"] if group is None else group.child_id(arguments["task_id"])
        vars(self).update(DEFAULTS)
        for name, value in arguments.items():
            if name in RULES:
                setattr(self, name, self.checked(name, value))
        if self.email and (self.email_on_failure or self.email_on_retry):
            raise self.mistake("Bide sends no mail; take email away and write an on_failure_callback.")
        self.pre_execute_hook = arguments.get("pre_execute")
        self.post_execute_hook = arguments.get("post_execute")
        self.task_group = group
        self.upstream: dict[str, Place] = {}
        self.downstream: dict[str, Place] = {}
        self._dag: DAG | None = None
        scope.note(self)
        if dag is not None:
            self.dag = dag
        if group is not None:
            group.add(self)

    def _common_defaults(self) -> dict[str, Any]:
        defaults = self.__dict__.get("_defaults", {})
        return {name: value for name, value in defaults.items() if name in COMMON}

    def checked(self, name: str, given: Any, place: Place | None = None) -> Any:
        """Return an argument as the engine keeps it, or refuse it."""
        if given is DEFAULTS[name]:
            return given
        try:
            return RULES[name][1](name, given)
        except Wrong as wrong:
            raise self.mistake(str(wrong), place) from None

    def mistake(self, sentence: str, place: Place | None = None) -> Exception:
        """Word a mistake that was made with this task."""
        return mistake(f"Task {self.task_id!r}: {sentence}", place)

    def settle(self) -> None:
        """Come after all tasks whose results this one refers to, now that its own `__init__` has ended."""
        for task in self.needed():
            task.comes_before(self, self.place)
        self._settled = True

    def needed(self) -> Iterator[Node]:
        """List the tasks whose results this one refers to."""
        raise NotImplementedError

    # What it is. ----------------------------------------------------------------------------------------------

    @property
    def task_type(self) -> str:
        """The name of its class."""
        return type(self).__name__

    @property
    def operator_name(self) -> str:
        """What people are shown as its kind."""
        return self.custom_operator_name or self.task_type

    @property
    def label(self) -> str:
        """Its id without the ids of the groups that it lies in."""
        prefix = self.task_group.child_id("") if self.task_group is not None else ""
        return self.task_id.removeprefix(prefix)

    @property
    def is_mapped(self) -> bool:
        """Whether it is one task for each element of something."""
        return False

    @property
    def output(self) -> PlainXComArg:
        """What it returns, to be passed to other tasks."""
        return PlainXComArg(self)

    # Where it stands. -----------------------------------------------------------------------------------------

    @property
    def dag(self) -> DAG:
        """The DAG that it is in."""
        if self._dag is None:
            raise mistake(f"Task {self.task_id!r} is in no DAG: write it below `with DAG(…):`, or pass dag=….")
        return self._dag

    @dag.setter
    def dag(self, dag: DAG) -> None:
        if self._dag is dag:
            return
        if self._dag is not None:
            raise self.mistake(f"it is in DAG {self._dag.dag_id!r} and cannot be put into {dag.dag_id!r} too.")
        dag.add_task(self)
        self._dag = dag

    @property
    def dag_id(self) -> str:
        """The id of its DAG."""
        return self.dag.dag_id

    def has_dag(self) -> bool:
        """Tell whether it is in a DAG already."""
        return self._dag is not None

    @property
    def roots(self) -> list[Node]:
        """Itself."""
        return [self]

    @property
    def leaves(self) -> list[Node]:
        """Itself."""
        return [self]

    def comes_before(self, other: Node, place: Place) -> None:
        """Put another task after this one."""
        if other is self:
            raise mistake(f"Task {self.task_id!r} would wait for itself.", place)
        if not self.has_dag() and not other.has_dag():
            raise mistake(
                f"Tasks {self.task_id!r} and {other.task_id!r} are in no DAG: write them below `with DAG(…):`.", place
            )
        if self.has_dag() and other.has_dag() and self.dag is not other.dag:
            raise mistake(
                f"Task {self.task_id!r} of DAG {self.dag.dag_id!r} cannot come before {other.task_id!r} of DAG "
                f"{other.dag.dag_id!r}; let an ExternalTaskSensor wait for it instead.",
                place,
            )
        if not self.has_dag():
            self.dag = other.dag
        other.dag = self.dag
        self.downstream.setdefault(other.task_id, place)
        other.upstream.setdefault(self.task_id, place)

    @property
    def upstream_task_ids(self) -> set[str]:
        """The ids of the tasks right before it."""
        return set(self.upstream)

    @property
    def downstream_task_ids(self) -> set[str]:
        """The ids of the tasks right after it."""
        return set(self.downstream)

    @property
    def upstream_list(self) -> list[Node]:
        """The tasks right before it."""
        return [self.dag.get_task(task_id) for task_id in self.upstream]

    @property
    def downstream_list(self) -> list[Node]:
        """The tasks right after it."""
        return [self.dag.get_task(task_id) for task_id in self.downstream]

    def get_flat_relative_ids(self, *, upstream: bool = False) -> set[str]:
        """List the ids of all tasks after it, near and far; or of all before it."""
        found: set[str] = set()
        waiting = [self]
        while waiting:
            task = waiting.pop()
            for task_id in task.upstream if upstream else task.downstream:
                if task_id not in found:
                    found.add(task_id)
                    waiting.append(self.dag.get_task(task_id))
        return found

    def as_setup(self) -> NoReturn:
        """Refuse, for now."""
        raise self.mistake(_LATER)

    def as_teardown(self, **given: object) -> NoReturn:
        """Refuse, for now."""
        raise self.mistake(_LATER)

    def __repr__(self) -> str:
        return f"<Task({self.task_type}): {self.task_id}>"
