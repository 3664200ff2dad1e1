"""How an operator comes to be: default arguments are filled in, and wrong ones are refused where they were written."""

from __future__ import annotations

import inspect
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, NamedTuple

from bide.authoring import scope
from bide.authoring.arguments import COMMON, OLD_NAMES
from bide.authoring.place import mistake, near

if TYPE_CHECKING:
    from bide.authoring.node import Node


class OperatorMeta(ABCMeta):
    """Checks the arguments of an operator before its author's `__init__` sees them."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        if "__init__" in namespace:
            # Not in `__call__` alone: a class may pass an argument on that a default would otherwise double.
            cls.__init__ = _filling(namespace["__init__"])  # type: ignore[misc]

    # A checker is to look at the `__init__` of each operator instead.
    if not TYPE_CHECKING:

        def __call__(cls, *args: object, **given: Any) -> Node:
            """Make an operator from what was given and what is meant by default."""
            if args:
                raise mistake(f"{cls.__name__} takes its arguments by name: write {_by_name(cls)}.")
            defaults = defaults_in_force(given)
            refuse_unknown(cls, given)
            operator = construct(cls, given, defaults)
            operator.settle()
            return operator


def construct(cls: type[Node], given: Mapping[str, Any], defaults: Mapping[str, Any]) -> Any:
    """Make an operator from arguments that have been checked."""
    operator = cls.__new__(cls)
    operator.__dict__["_defaults"] = defaults
    operator.__init__(**given)  # type: ignore[misc]
    if "task_id" not in operator.__dict__:
        raise mistake(f"{cls.__name__}.__init__ does not call super().__init__(**kwargs), so it makes no task.")
    return operator


def _filling(init: Callable[..., None]) -> Callable[..., None]:
    """Let an `__init__` find its own arguments among the default ones."""
    own = _named(init)
    needed = _without_default(own)
    if not own:
        return init

    @wraps(init)
    def filled(self: Node, *args: Any, **given: Any) -> None:
        defaults = self.__dict__.get("_defaults", {})
        complete = {**{name: defaults[name] for name in own if name in defaults}, **given}
        if not args:
            _refuse_missing(type(self), needed - complete.keys())
        init(self, *args, **complete)

    return filled


def defaults_in_force(given: Mapping[str, Any]) -> dict[str, Any]:
    """Gather the default arguments of a new task: the nearer they stand to it, the more they count."""
    dag, group = scope.home(given.get("dag"), given.get("task_group"))
    levels = [given.get("default_args") or {}]
    while group is not None:
        levels.append(group.default_args)
        group = group.parent_group
    if dag is not None:
        levels.append(dag.default_args)
    return {name: value for level in reversed(levels) for name, value in level.items() if name != "task_id"}


class Taken(NamedTuple):
    """The names of arguments that a class takes, those that it cannot do without, and what others are by default."""

    names: frozenset[str]
    needed: frozenset[str]
    defaults: Mapping[str, Any]


@cache
def taken_by(cls: type) -> Taken:
    """Look which arguments the `__init__` of a class takes, and those that it passes its further ones to."""
    names: set[str] = set()
    needed: frozenset[str] | None = None
    defaults: dict[str, Any] = {}
    for owner in cls.__mro__:
        init = owner.__dict__.get("__init__")
        if init is None:
            continue
        parameters = _named(init)
        names |= parameters.keys()
        without = _without_default(parameters)
        needed = without if needed is None else needed
        defaults = {name: it.default for name, it in parameters.items() if name not in without} | defaults
        if not _passes_on(init):
            break
        if owner.__dict__.get("takes_common_arguments"):
            names |= COMMON
            break
    return Taken(frozenset(names), needed or frozenset(), defaults)


def _named(init: Callable[..., None]) -> dict[str, inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = list(inspect.signature(init).parameters.values())[1:]
    return {parameter.name: parameter for parameter in parameters if parameter.kind in kinds}


def _without_default(parameters: Mapping[str, inspect.Parameter]) -> frozenset[str]:
    return frozenset(name for name, it in parameters.items() if it.default is inspect.Parameter.empty)


def _passes_on(init: Callable[..., None]) -> bool:
    kinds = [parameter.kind for parameter in inspect.signature(init).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


def refuse_unknown(cls: type, given: Iterable[str]) -> None:
    """Refuse an argument that a class does not take."""
    known = taken_by(cls).names
    for name in given:
        if name not in known:
            called = getattr(cls, "custom_operator_name", None) or cls.__name__
            raise mistake(f"{called} has no argument {name!r}{meant(name, known)}")


def meant(name: str, known: Iterable[str]) -> str:
    """End a sentence with the name that somebody probably meant."""
    names = list(known)
    today = OLD_NAMES.get(name)
    return f"; it is called {today!r} today." if today in names else near(name, names)


def refuse_missing(cls: type, present: Iterable[str]) -> None:
    """Refuse to go on without arguments that a class cannot do without."""
    _refuse_missing(cls, taken_by(cls).needed - set(present))


def _refuse_missing(cls: type, missing: frozenset[str]) -> None:
    if missing:
        raise mistake(f"{cls.__name__} needs {' and '.join(sorted(missing))}.")


def _by_name(cls: type) -> str:
    names = ["task_id", *sorted(taken_by(cls).needed - {"task_id"})]
    return f"{cls.__name__}({', '.join(f'{name}=…' for name in names)})"
