"""`@dag`: a function whose call makes a DAG."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, Unpack, overload

from bide.authoring.dag import DAG
from bide.authoring.dag_arguments import DagArguments
from bide.authoring.params import NOTHING

P = ParamSpec("P")


@overload
def dag(dag_id: Callable[P, object]) -> Callable[P, DAG]: ...
@overload
def dag(dag_id: str = ..., **given: Unpack[DagArguments]) -> Callable[[Callable[P, object]], Callable[P, DAG]]: ...
def dag(dag_id: Any = "", **given: Any) -> Any:
    """Let each call of a function make a DAG of the tasks in it. The arguments of the function become params."""
    if callable(dag_id):
        return _factory(dag_id, "", {})
    return lambda function: _factory(function, dag_id, given)


def _factory(function: Callable[..., object], dag_id: str, given: Any) -> Callable[..., DAG]:
    signature = inspect.signature(function)

    @wraps(function)
    def make(*args: Any, **kwargs: Any) -> DAG:
        bound = signature.bind_partial(*args, **kwargs)
        bound.apply_defaults()
        arguments: Any = {"doc_md": inspect.getdoc(function), **given}
        with DAG(dag_id or function.__name__, **arguments) as made:
            values = {name: bound.arguments.get(name, NOTHING) for name in signature.parameters}
            function(**{name: made.param(name, value) for name, value in values.items()})
        return made

    return make
