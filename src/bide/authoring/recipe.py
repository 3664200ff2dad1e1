"""How an operator can be made again where its DAG is not: from the path of its class and its arguments.

A trigger carries such a recipe, so that the one method `poke` of a sensor does its work in both places.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bide.authoring.arguments import COMMON
from bide.authoring.construction import construct, taken_by
from bide.authoring.imports import is_below_a_root
from bide.authoring.values import find_class
from bide.errors import CodecError
from bide.exceptions import TaskError

if TYPE_CHECKING:
    from bide.authoring.context import Context
    from bide.authoring.operator import BaseOperator

Recipe = dict[str, Any]

_NOT_ITS_WORK = COMMON | {"start_from_trigger", "trigger_kwargs", "deferrable"}
_PLAIN = (
    "run_id", "logical_date", "data_interval_start", "data_interval_end", "ds", "ds_nodash", "ts", "ts_nodash",
    "ts_nodash_with_tz", "params", "try_number",
)  # fmt: skip


def recipe_of(operator: BaseOperator) -> Recipe:
    """Describe how to make an operator again, with its arguments as they are now."""
    kind = type(operator)
    arguments, functions = {}, {}
    for name in sorted(taken_by(kind).names - _NOT_ITS_WORK):
        if not hasattr(operator, name):
            raise TaskError(
                f"{kind.__name__} keeps no attribute {name!r}, so it cannot be made again to look without a worker: "
                "keep the argument under its name, or take deferrable away."
            )
        value = getattr(operator, name)
        if callable(value):
            functions[name] = _path(value)
        else:
            arguments[name] = value
    return {"class": _path(kind), "arguments": arguments, "functions": functions}


def made_from(recipe: Mapping[str, Any]) -> Any:
    """Make an operator from its recipe. It is in no DAG."""
    functions = {name: _found(path) for name, path in recipe["functions"].items()}
    kind: Any = _found(recipe["class"])
    return construct(kind, {**recipe["arguments"], **functions, "task_id": "remade"}, {})


def needs_dag_files(recipe: Mapping[str, Any]) -> bool:
    """Tell whether some of its code stands in the folder of DAG files."""
    modules = [path.partition(":")[0] for path in (recipe["class"], *recipe["functions"].values())]
    return any(is_below_a_root(getattr(sys.modules.get(name), "__file__", None)) for name in modules)


def plain_part(context: Context) -> dict[str, Any]:
    """Choose what can be taken along of a context: dates, names and params of the run."""
    known: Any = context
    return {name: known[name] for name in _PLAIN if name in known}


def _path(thing: Any) -> str:
    """Name a class or function so that it is found again, or refuse it."""
    function = inspect.unwrap(thing)
    path = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    try:
        found = _found(path) if "<" not in path else None
    except CodecError:
        found = None
    if found is not function:
        raise TaskError(
            f"{getattr(function, '__name__', repr(function))} cannot be found again by its name, so nobody can look "
            "without a worker: write it outside of all functions, or take deferrable away and say mode='reschedule'."
        )
    return path


def _found(path: str) -> object:
    found: Any = find_class(path)
    return inspect.unwrap(found)
