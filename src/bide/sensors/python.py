"""A sensor that asks a function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Unpack

from bide.authoring import BaseSensorOperator, Context, PokeReturnValue, SensorArguments, call_with_context


class PythonSensor(BaseSensorOperator):
    """Waits until a function returns something true, or a PokeReturnValue that is done."""

    template_fields: Collection[str] = ("templates_dict", "op_args", "op_kwargs")

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Collection[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        templates_dict: dict[str, Any] | None = None,
        **kwargs: Unpack[SensorArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.python_callable = python_callable
        self.op_args = op_args if op_args is not None else ()
        self.op_kwargs = op_kwargs if op_kwargs is not None else {}
        self.templates_dict = templates_dict

    def poke(self, context: Context) -> bool | PokeReturnValue:
        """Ask the function."""
        context["templates_dict"] = self.templates_dict
        answer = call_with_context(self.python_callable, self.op_args, self.op_kwargs, context)
        return answer if isinstance(answer, PokeReturnValue) else bool(answer)
