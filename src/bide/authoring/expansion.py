"""What a mapped task goes over: the combinations of several inputs, or one list of sets of arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bide.authoring.place import kind_of, mistake
from bide.authoring.reference import Reference, needed_by
from bide.authoring.xcomarg import XComArg
from bide.exceptions import TaskFailed
from bide.model.plan import MapInput, MapPlan, MapSource

if TYPE_CHECKING:
    from bide.authoring.context import Context
    from bide.authoring.node import Node

KEYWORDS = "keywords"
"""How the plan calls the one input of `expand_kwargs`."""


class Element(NamedTuple):
    """The arguments of one instance, and which of their values are data: those are never taken for templates."""

    arguments: dict[str, Any]
    data: list[Any]


class Expansion:
    """What a mapped task goes over. Inputs are lists, dicts, or results of other tasks."""

    kind: Literal["expand", "expand_kwargs"] = "expand"

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        for name, given in inputs.items():
            if not isinstance(given, list | tuple | dict | XComArg):
                raise mistake(
                    f"{self.kind}() goes over lists, dicts and results of tasks, but {name} is {kind_of(given)}; "
                    "pass what is the same for all to partial()."
                )
        self.inputs = inputs
        # How the scheduler counts the instances.
        self.plan = MapPlan(kind=self.kind, inputs=tuple(_planned(name, given) for name, given in inputs.items()))

    def needed(self) -> Iterator[Node]:
        """List the tasks whose results it goes over."""
        return needed_by(dict(self.inputs))

    def names(self) -> set[str]:
        """The arguments that differ, as far as they are known while the file is read."""
        return set(self.inputs)

    def element(self, context: Context, index: int) -> Element:
        """Find the arguments of one instance. The last input changes fastest."""
        found = {name: _elements(given, context) for name, given in self.inputs.items()}
        count = prod(len(elements) for elements in found.values())
        if not 0 <= index < count:
            raise TaskFailed(f"There is no element {index} any more: what the task goes over has {count} now.")
        arguments, data = {}, []
        for name, elements in reversed(found.items()):
            index, place = divmod(index, len(elements))
            arguments[name] = _value(elements[place], context)
            if arguments[name] is not elements[place] or isinstance(self.inputs[name], XComArg):
                data.append(arguments[name])
        return Element(arguments, data)


class KeywordSets(Expansion):
    """A list of dicts, each with all arguments that one instance has for itself."""

    kind = "expand_kwargs"

    def __init__(self, given: Any) -> None:
        super().__init__({KEYWORDS: given})
        if isinstance(given, dict):
            raise mistake("expand_kwargs() goes over a list of dicts, not over a dict; use expand() for that.")
        for arguments in given if isinstance(given, list | tuple) else ():
            if not isinstance(arguments, dict | Reference):
                raise mistake(f"expand_kwargs() goes over a list of dicts, but it holds {kind_of(arguments)}.")

    def names(self) -> set[str]:
        """The arguments in lists that stand in the file."""
        given = self.inputs[KEYWORDS]
        sets = [each for each in given if isinstance(each, dict)] if isinstance(given, list | tuple) else []
        return {name for each in sets for name in each}

    def element(self, context: Context, index: int) -> Element:
        """Find the arguments of one instance."""
        arguments, data = super().element(context, index)
        found = arguments[KEYWORDS]
        if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
            raise TaskFailed(f"expand_kwargs() goes over dicts with texts as keys, but element {index} is none.")
        values = {name: _value(value, context) for name, value in found.items()}
        known = [value for name, value in values.items() if data or value is not found[name]]
        return Element(values, known)


def _planned(name: str, given: Any) -> MapInput:
    if isinstance(given, XComArg):
        combine, sources = given.sources()
        return MapInput(name=name, sources=sources, combine=combine)
    return MapInput(name=name, sources=(MapSource(length=len(given)),))


def _elements(given: Any, context: Context) -> Sequence[Any]:
    if isinstance(given, XComArg):
        return given.elements(context)
    return list(given.items()) if isinstance(given, dict) else given


def _value(given: Any, context: Context) -> Any:
    return given.resolve(context) if isinstance(given, Reference) else given
