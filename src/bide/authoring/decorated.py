"""Functions that are tasks: what `@task` makes of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, get_origin, get_type_hints, is_typeddict

from bide.authoring import scope
from bide.authoring.calling import refuse_bad_call
from bide.authoring.construction import refuse_unknown
from bide.authoring.expansion import Expansion, KeywordSets
from bide.authoring.mapping import Partial
from bide.authoring.operator import BaseOperator
from bide.authoring.place import mistake
from bide.authoring.xcomarg import XComArg

if TYPE_CHECKING:
    from bide.authoring.context import Context

P = ParamSpec("P")


class TaskFunction(Generic[P]):
    """A function whose calls each make a task. The call returns what the task will return."""

    def __init__(
        self, operator_class: type[BaseOperator], function: Callable[P, object], given: Mapping[str, Any]
    ) -> None:
        if not callable(function):
            raise mistake("@task stands above a function; other arguments are given by name, as in @task(retries=3).")
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise mistake(f"{function.__name__}() is async, and tasks are not; call asyncio.run() in a plain function.")
        refuse_unknown(operator_class, given)
        self.operator_class: Any = operator_class
        self.function = function
        self._given = dict(given)
        if self._given.get("multiple_outputs") is None:
            self._given["multiple_outputs"] = _returns_a_dict(function)
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> XComArg:
        """Make a task that calls the function with these arguments."""
        refuse_bad_call(self.function, args, kwargs)
        task: BaseOperator = self.operator_class(**self._arguments(), op_args=args, op_kwargs=kwargs)
        return task.output

    def override(self, **given: Any) -> TaskFunction[P]:
        """Make the same kind of task with other arguments, such as another task_id."""
        return TaskFunction(self.operator_class, self.function, {**self._given, **given})

    def before(self, hook: Callable[[Context], object]) -> TaskFunction[P]:
        """Make the same kind of task with something that is done before its own `pre_execute`."""
        own = self._given.get("pre_execute")

        def both(context: Context) -> None:
            hook(context)
            if own is not None:
                own(context)

        return self.override(pre_execute=both)

    def partial(self, **kwargs: Any) -> PartialFunction:
        """Give the arguments that are the same for all elements; `.expand()` takes those that differ."""
        return PartialFunction(self, kwargs)

    def expand(self, **mapped: Any) -> XComArg:
        """Make one task for each element; of several inputs, for each combination of their elements."""
        return self.partial().expand(**mapped)

    def expand_kwargs(self, kwargs: Any) -> XComArg:
        """Make one task for each dict of arguments in a list."""
        return self.partial().expand_kwargs(kwargs)

    def mapped(self, same: Mapping[str, Any], expansion: Expansion) -> XComArg:
        """Make a mapped task of the function."""
        arguments = {**self._arguments(), "op_kwargs": dict(same)}
        return Partial(self.operator_class, arguments, into="op_kwargs").over(expansion).output

    def _arguments(self) -> dict[str, Any]:
        given = {"doc_md": inspect.getdoc(self.function), **self._given}
        return {**given, "task_id": self._free_id(), "python_callable": self.function}

    def _free_id(self) -> str:
        """Number the calls of one function: each call is a task of its own."""
        wanted: str = self._given.get("task_id") or self.function.__name__
        dag, group = scope.home(self._given.get("dag"), self._given.get("task_group"))
        if dag is None:
            return wanted
        prefix = "" if group is None else group.child_id("")
        return dag.free_id(prefix + wanted).removeprefix(prefix)


class PartialFunction:
    """Some arguments of a function that is a task. `.expand()` makes the tasks."""

    def __init__(self, task: TaskFunction[...], same: Mapping[str, Any]) -> None:
        self._task = task
        self._same = same

    def expand(self, **mapped: Any) -> XComArg:
        """Make one task for each element; of several inputs, for each combination of their elements."""
        if not mapped:
            raise mistake("expand() needs something to go over, such as expand(x=[1, 2, 3]).")
        both = sorted(self._same.keys() & mapped.keys())
        if both:
            raise mistake(f"{both[0]} stands in partial() and in expand(); it is either the same for all or not.")
        refuse_bad_call(self._task.function, (), [*self._same, *mapped])
        return self._task.mapped(self._same, Expansion(mapped))

    def expand_kwargs(self, kwargs: Any) -> XComArg:
        """Make one task for each dict of arguments in a list."""
        expansion = KeywordSets(kwargs)
        for each in kwargs if isinstance(kwargs, list | tuple) else ():
            if isinstance(each, dict):
                refuse_bad_call(self._task.function, (), [*self._same, *each])
        return self._task.mapped(self._same, expansion)


def _returns_a_dict(function: Callable[..., object]) -> bool:
    try:
        returned = get_type_hints(function).get("return")
    except Exception:  # a name that is only there for type checkers: then nobody can tell
        return False
    kind = get_origin(returned) or returned
    return is_typeddict(kind) or (isinstance(kind, type) and issubclass(kind, Mapping))
