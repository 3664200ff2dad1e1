"""Operators that call a function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Required, Unpack

from bide.authoring import (
    BaseOperator,
    Context,
    OperatorArguments,
    TaskDeferred,
    call_with_context,
    follow,
    get_current_context,
    seen_from,
    takes,
)
from bide.exceptions import TaskError, TaskFailed

__all__ = ["BranchPythonOperator", "PythonOperator", "ShortCircuitOperator", "get_current_context"]


class PythonArguments(OperatorArguments, total=False):
    """What can be said of every operator that calls a function."""

    python_callable: Required[Callable[..., Any]]
    op_args: Collection[Any] | None
    op_kwargs: Mapping[str, Any] | None
    templates_dict: dict[str, Any] | None
    templates_exts: Collection[str] | None
    show_return_value_in_logs: bool


class PythonOperator(BaseOperator):
    """Calls a function. Arguments of the function that are names of the context are filled in."""

    template_fields: Collection[str] = ("templates_dict", "op_args", "op_kwargs")
    template_fields_renderers: Mapping[str, str] = {"templates_dict": "json", "op_args": "py", "op_kwargs": "py"}
    ui_color = "#ffefeb"

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Collection[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        templates_dict: dict[str, Any] | None = None,
        templates_exts: Collection[str] | None = None,
        show_return_value_in_logs: bool = True,
        **kwargs: Unpack[OperatorArguments],
    ) -> None:
        super().__init__(**kwargs)
        if not callable(python_callable):
            raise self.mistake("python_callable must be a function: give its name without calling it.")
        self.python_callable = python_callable
        self.op_args = op_args if op_args is not None else ()
        self.op_kwargs = op_kwargs if op_kwargs is not None else {}
        self.templates_dict = templates_dict
        self.template_ext = tuple(templates_exts or ())
        self.show_return_value_in_logs = show_return_value_in_logs

    def execute(self, context: Context, **resumed: Any) -> Any:
        """Call the function; after a wait, with what has come of it."""
        return self.conclude(
            self._call(self.python_callable, self.op_args, {**self.op_kwargs, **resumed}, context), context
        )

    def resume_execution(self, next_method: str, next_kwargs: Mapping[str, Any], context: Context) -> Any:
        """Go on after a wait: in the function, or in another one that it has named."""
        if hasattr(self, next_method):
            return super().resume_execution(next_method, next_kwargs, context)
        function = seen_from(self.python_callable, next_method)
        if function is None:
            raise TaskFailed(f"There is no function {next_method}() any more that {self._name()} could see.")
        return self.conclude(self._call(function, (), next_kwargs, context), context)

    def conclude(self, result: Any, context: Context) -> Any:
        """Make of what the function has returned what the task returns."""
        if self.show_return_value_in_logs:
            self.log.info("Done. Returned value was: %.1000s", result)
        return result

    def _call(
        self, function: Callable[..., Any], args: Collection[Any], kwargs: Mapping[str, Any], context: Any
    ) -> Any:
        context["templates_dict"] = self.templates_dict
        if "event" in kwargs and not takes(function, "event"):
            kwargs = {name: value for name, value in kwargs.items() if name != "event"}
        try:
            return call_with_context(function, args, kwargs, context)
        except TaskDeferred as deferred:
            self._refuse_lost_way(deferred)
            raise

    def _refuse_lost_way(self, deferred: TaskDeferred) -> None:
        """Refuse a wait after which the task could not go on, or would not know that it has waited."""
        name = deferred.method_name
        if deferred.function is not None and seen_from(self.python_callable, name) is not deferred.function:
            raise TaskError(
                f"{self._name()} cannot see {name}() under its name, so it could not go on in it: write it beside "
                f"{self._name()}, outside of it."
            ) from None
        if deferred.function is None and not hasattr(self, name) and seen_from(self.python_callable, name) is None:
            raise TaskError(f"{self._name()} cannot go on in {name!r}: it sees no function of this name.") from None
        if name == "execute" and not takes(self.python_callable, "event"):
            raise TaskError(
                f"{self._name()} is called again after the wait and would not notice: give it an argument "
                "`event=None`, or name the function to go on in."
            ) from None

    def _name(self) -> str:
        return f"{getattr(self.python_callable, '__name__', 'the function')}()"


class BranchPythonOperator(PythonOperator):
    """Calls a function that returns the ids of the tasks or groups to go on with; the others are skipped."""

    branches = True

    def conclude(self, result: Any, context: Context) -> Any:
        """Let the function choose."""
        return follow(context, super().conclude(result, context))


class ShortCircuitOperator(PythonOperator):
    """Calls a function; if it returns something false, all tasks after this one are skipped.

    Without `ignore_downstream_trigger_rules` only those right after it are, and further ones go by their rules.
    """

    branches = True

    def __init__(self, *, ignore_downstream_trigger_rules: bool = True, **kwargs: Unpack[PythonArguments]) -> None:
        super().__init__(**kwargs)
        self.ignore_downstream_trigger_rules = ignore_downstream_trigger_rules

    def conclude(self, result: Any, context: Context) -> Any:
        """Let the function decide."""
        condition = super().conclude(result, context)
        if condition:
            self.log.info("Going on: the function has returned something true.")
            context["ti"].skip_tasks([])
            return condition
        after = self.get_flat_relative_ids() if self.ignore_downstream_trigger_rules else self.downstream
        skipped = [task_id for task_id in self.dag.task_ids if task_id in after]
        self.log.info("Stopping here: the function has returned something false. Skipping %s", skipped or "nothing")
        context["ti"].skip_tasks(skipped)
        return condition
