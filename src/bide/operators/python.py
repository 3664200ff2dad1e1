"""Operators that call a function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Required, Unpack

from bide.authoring import BaseOperator, Context, OperatorArguments, call_with_context, follow, get_current_context

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

    def execute(self, context: Context) -> Any:
        """Call the function."""
        context["templates_dict"] = self.templates_dict
        result = call_with_context(self.python_callable, self.op_args, self.op_kwargs, context)
        if self.show_return_value_in_logs:
            self.log.info("Done. Returned value was: %.1000s", result)
        return result


class BranchPythonOperator(PythonOperator):
    """Calls a function that returns the ids of the tasks or groups to go on with; the others are skipped."""

    branches = True

    def execute(self, context: Context) -> Any:
        """Let the function choose."""
        return follow(context, super().execute(context))


class ShortCircuitOperator(PythonOperator):
    """Calls a function; if it returns something false, all tasks after this one are skipped.

    Without `ignore_downstream_trigger_rules` only those right after it are, and further ones go by their rules.
    """

    branches = True

    def __init__(self, *, ignore_downstream_trigger_rules: bool = True, **kwargs: Unpack[PythonArguments]) -> None:
        super().__init__(**kwargs)
        self.ignore_downstream_trigger_rules = ignore_downstream_trigger_rules

    def execute(self, context: Context) -> Any:
        """Let the function decide."""
        condition = super().execute(context)
        if condition:
            self.log.info("Going on: the function has returned something true.")
            context["ti"].skip_tasks([])
            return condition
        after = self.get_flat_relative_ids() if self.ignore_downstream_trigger_rules else self.downstream
        skipped = [task_id for task_id in self.dag.task_ids if task_id in after]
        self.log.info("Stopping here: the function has returned something false. Skipping %s", skipped or "nothing")
        context["ti"].skip_tasks(skipped)
        return condition
