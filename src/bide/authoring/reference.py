"""Values that are not known before a task runs. Until then something that refers to them stands in their place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bide.authoring.context import Context
    from bide.authoring.node import Node


class Reference:
    """Stands in an argument for a value that is only known while the task runs."""

    def resolve(self, context: Context) -> Any:
        """Return the value itself."""
        raise NotImplementedError

    def needed(self) -> Iterator[Node]:
        """List the tasks that must come before, because the value is theirs."""
        yield from ()


class LiteralValue(Reference):
    """A value that is passed on as it is, although it may look like a template."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def resolve(self, context: Context) -> Any:
        """Return the value."""
        return self.value


def literal(value: Any) -> Any:
    """Keep a value from being rendered: neither as a template nor as the name of a file with one."""
    return LiteralValue(value)


class ParamReference(Reference):
    """Stands for a param of the run: the argument of a function that is decorated with `@dag`, or `dag.param("x")`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def resolve(self, context: Context) -> Any:
        """Return what the param is in this run."""
        return context["params"][self.name]

    def __str__(self) -> str:
        return f"{{{{ params[{self.name!r}] }}}}"


def needed_by(value: object) -> Iterator[Node]:
    """List the tasks whose results are referred to anywhere in a value."""
    if isinstance(value, Reference):
        yield from value.needed()
    elif isinstance(value, dict):
        for item in value.values():
            yield from needed_by(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from needed_by(item)
