"""Groups of tasks: a name in front of their ids, and one place to put them in order together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, Self, TypedDict, Unpack, overload

from bide.authoring import scope
from bide.authoring.place import mistake
from bide.authoring.relations import Relatable

if TYPE_CHECKING:
    from bide.authoring.dag import DAG
    from bide.authoring.node import Node

P = ParamSpec("P")

_NOT_MAPPED = "Task groups cannot be mapped yet. Map the tasks in the group one by one."


class TaskGroup(Relatable):
    """Tasks that belong together. `with TaskGroup("name"):` puts what is written below it into the group."""

    def __init__(
        self,
        group_id: str,
        prefix_group_id: bool = True,
        parent_group: TaskGroup | None = None,
        dag: DAG | None = None,
        default_args: Mapping[str, Any] | None = None,
        tooltip: str = "",
        group_display_name: str = "",
        add_suffix_on_collision: bool = False,
        ui_color: str = "",
        ui_fgcolor: str = "",
    ) -> None:
        home, parent = scope.home(dag, parent_group)
        if home is None:
            raise mistake(f"Group {group_id!r} is in no DAG: write it below `with DAG(…):`, or pass dag=….")
        if not isinstance(group_id, str) or not group_id:
            raise mistake("A TaskGroup needs a group_id: a name of its own, as a text.")
        self.dag = home
        self.parent_group = parent
        self.prefix_group_id = prefix_group_id
        full = group_id if parent is None else parent.child_id(group_id)
        self.group_id = home.free_id(full) if add_suffix_on_collision else full
        self.default_args = dict(default_args or {})
        self.tooltip = tooltip
        self.group_display_name = group_display_name
        self._tasks: list[Node] = []
        self._groups: list[TaskGroup] = []
        home.add_group(self)
        if parent is not None:
            parent._groups.append(self)

    def child_id(self, label: str) -> str:
        """Put the name of the group in front of an id."""
        return f"{self.group_id}.{label}" if self.prefix_group_id else label

    def add(self, task: Node) -> None:
        """Take a new task in."""
        self._tasks.append(task)

    def tasks(self) -> list[Node]:
        """List the tasks in it, and in the groups within it."""
        return [*self._tasks, *(task for group in self._groups for task in group.tasks())]

    @property
    def roots(self) -> list[Node]:
        """The tasks in it that come after no other in it."""
        tasks = self.tasks()
        within = {task.task_id for task in tasks}
        return [task for task in tasks if within.isdisjoint(task.upstream)]

    @property
    def leaves(self) -> list[Node]:
        """The tasks in it that come before no other in it."""
        tasks = self.tasks()
        within = {task.task_id for task in tasks}
        return [task for task in tasks if within.isdisjoint(task.downstream)]

    def __enter__(self) -> Self:
        scope.enter(scope.Scope(self.dag, self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        scope.leave()


def numbered(wanted: str, taken: Callable[[str], bool]) -> str:
    """Return an id, with a number behind it if it is taken."""
    return next(name for number in count() if not taken(name := f"{wanted}__{number}" if number else wanted))


class GroupOptions(TypedDict, total=False):
    """What can be said of a group of tasks beside its id."""

    prefix_group_id: bool
    parent_group: TaskGroup | None
    dag: DAG | None
    default_args: Mapping[str, Any] | None
    tooltip: str
    group_display_name: str
    add_suffix_on_collision: bool
    ui_color: str
    ui_fgcolor: str


class GroupArguments(GroupOptions, total=False):
    """What can be said of a group of tasks."""

    group_id: str


class GroupFunction(Generic[P]):
    """A function whose calls each make a group of the tasks that it calls."""

    def __init__(self, function: Callable[P, object], given: GroupArguments) -> None:
        self.function = function
        self._given = given
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Make a group. Returns what the function returns, or the group if that is nothing."""
        doc = (self.function.__doc__ or "").strip()
        given: GroupArguments = {
            "group_id": self.function.__name__,
            "tooltip": doc,
            "add_suffix_on_collision": True,
            **self._given,
        }
        with TaskGroup(**given) as group:
            returned = self.function(*args, **kwargs)
        return group if returned is None else returned

    def override(self, **given: Unpack[GroupArguments]) -> GroupFunction[P]:
        """Make the same group with other arguments."""
        return GroupFunction(self.function, {**self._given, **given})

    def partial(self, **given: Any) -> NoReturn:
        """Refuse, for now."""
        raise mistake(_NOT_MAPPED)

    def expand(self, **given: Any) -> NoReturn:
        """Refuse, for now."""
        raise mistake(_NOT_MAPPED)

    def expand_kwargs(self, given: Any) -> NoReturn:
        """Refuse, for now."""
        raise mistake(_NOT_MAPPED)


@overload
def task_group(group_id: Callable[P, object]) -> GroupFunction[P]: ...
@overload
def task_group(
    group_id: str = ..., **given: Unpack[GroupOptions]
) -> Callable[[Callable[P, object]], GroupFunction[P]]: ...
def task_group(group_id: Any = "", **given: Any) -> Any:
    """Let each call of a function make a group of the tasks in it."""
    if callable(group_id):
        return GroupFunction(group_id, {})
    named: Any = {"group_id": group_id, **given} if group_id else given
    return lambda function: GroupFunction(function, named)
