"""Calling the author's functions: with their own arguments, and with what they ask of the context."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bide.authoring.context import CONTEXT_KEYS, wanted_by
from bide.authoring.place import mistake, near

if TYPE_CHECKING:
    from bide.authoring.context import Context

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def call_with_context(
    function: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any], context: Context
) -> Any:
    """Call a function; names of the context among its arguments are filled in, `**kwargs` get all of it."""
    args = list(args)
    try:
        signature = inspect.signature(function)
        given = signature.bind_partial(*args).arguments.keys() | kwargs.keys()
    except (TypeError, ValueError):  # no signature, or too many arguments: then the call itself tells
        return function(*args, **kwargs)
    parameters = signature.parameters.values()
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    asked = None if takes_all else frozenset(it.name for it in parameters if it.kind in _NAMED)
    known = wanted_by(asked, context)
    return function(*args, **{name: value for name, value in known.items() if name not in given}, **kwargs)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Tell whether a function takes an argument of this name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # no signature: then it may take anything
        return True
    return name in parameters or any(it.kind is inspect.Parameter.VAR_KEYWORD for it in parameters.values())


def seen_from(function: Callable[..., Any], name: str) -> Callable[..., Any] | None:
    """Find a function by its name as another function sees it: in its module, or in the function around it."""
    inner = inspect.unwrap(function)
    code = getattr(inner, "__code__", None)
    cells = dict(zip(code.co_freevars, inner.__closure__ or (), strict=False)) if code is not None else {}
    try:
        found = cells[name].cell_contents if name in cells else getattr(inner, "__globals__", {}).get(name)
    except ValueError:  # it is named there, but not made yet
        return None
    return found if callable(found) else None


def refuse_bad_call(function: Callable[..., Any], args: Iterable[Any], names: Iterable[str]) -> None:
    """Refuse a call while the file is read that would fail when the task runs."""
    name, names = getattr(function, "__name__", "function"), list(names)
    signature = inspect.signature(function)
    parameters = signature.parameters
    open_ended = any(it.kind is inspect.Parameter.VAR_KEYWORD for it in parameters.values())
    for given in names:
        if given not in parameters and not open_ended:
            raise mistake(f"{name}() has no argument {given!r}{near(given, parameters)}")
    try:
        bound = signature.bind_partial(*args, **dict.fromkeys(names))
    except TypeError as error:
        raise mistake(f"{name}() cannot be called so: {error}.") from None
    missing = [
        it.name
        for it in parameters.values()
        if it.default is inspect.Parameter.empty and it.kind in _NAMED and it.name not in bound.arguments
    ]
    missing = [each for each in missing if each not in CONTEXT_KEYS]
    if missing:
        raise mistake(f"{name}() needs {' and '.join(missing)}.")
