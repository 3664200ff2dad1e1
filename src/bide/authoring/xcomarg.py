"""What a task returns, as something to pass to other tasks before it has returned anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from bide.authoring.place import kind_of, mistake
from bide.authoring.reference import Reference
from bide.authoring.relations import Relatable
from bide.exceptions import NotFound, TaskFailed
from bide.model.plan import MapSource

if TYPE_CHECKING:
    from bide.authoring.context import Context
    from bide.authoring.node import Node

    # A checker takes a result for any value, because it stands for one.
    Anything = Any
else:
    Anything = object

RETURN_KEY = "return_value"
Combine = Literal["zip", "zip_longest", "concat"]
_NOTHING = object()


class XComArg(Reference, Relatable, Anything):  # type: ignore[misc]
    """The result of a task. Passing it to another task also puts the two in order."""

    if TYPE_CHECKING:

        def __init__(self, operator: Node, key: str = RETURN_KEY) -> None: ...
    else:

        def __new__(cls, *args: object, **kwargs: object) -> XComArg:
            """Make the simplest kind when asked for a result of no particular kind."""
            return super().__new__(PlainXComArg if cls is XComArg else cls)

    def elements(self, context: Context) -> Sequence[Any]:
        """Return what a mapped task is expanded over, each element made no sooner than it is asked for."""
        raise NotImplementedError

    def sources(self) -> tuple[Combine, tuple[MapSource, ...]]:
        """Tell the scheduler where the number of elements comes from."""
        raise NotImplementedError

    def resolve(self, context: Context) -> Any:
        """Return all elements."""
        return list(self.elements(context))

    @property
    def roots(self) -> list[Node]:
        """The tasks whose results these are."""
        return list(dict.fromkeys(self.needed()))

    @property
    def leaves(self) -> list[Node]:
        """The tasks whose results these are."""
        return self.roots

    def map(self, function: Callable[[Any], Any]) -> MapXComArg:
        """Change each element by a function before it is used. Where it raises a skip, that instance is skipped."""
        if hasattr(function, "override"):
            raise mistake("map() takes a plain function; for a task of its own use .expand().")
        return MapXComArg(self, function)

    def zip(self, *others: XComArg, fillvalue: Any = _NOTHING) -> ZipXComArg:
        """Put results together element by element, as far as the shortest reaches, or filled up to the longest."""
        return ZipXComArg((self, *others), fillvalue)

    def concat(self, *others: XComArg) -> ConcatXComArg:
        """Put the elements of several results one after the other."""
        return ConcatXComArg((self, *others))

    def __getitem__(self, key: str) -> XComArg:
        raise mistake(f"Only what a task returns has XComs with keys, so [{key!r}] cannot be asked of this.")

    def __iter__(self) -> NoReturn:
        raise mistake(
            "What a task returns is not known while the file is read, so it cannot be looped over; "
            "use .expand() to make a task for each element."
        )


class PlainXComArg(XComArg):
    """What one task has left under one key; of a mapped task, what all its instances have left, in a list."""

    def __init__(self, operator: Node, key: str = RETURN_KEY) -> None:
        self.operator = operator
        self.key = key

    def needed(self) -> Iterator[Node]:
        """Name the task whose result it is."""
        yield self.operator

    def __getitem__(self, key: str) -> XComArg:
        if not isinstance(key, str):
            raise mistake(f"XComs have texts as keys, but [{key!r}] was asked for; take the value apart in a task.")
        return PlainXComArg(self.operator, key)

    def __str__(self) -> str:
        return f"{{{{ ti.xcom_pull(task_ids={self.operator.task_id!r}, key={self.key!r}) }}}}"

    def resolve(self, context: Context) -> Any:
        """Fetch the value from the engine."""
        value = context["ti"].xcom_pull(task_ids=self.operator.task_id, key=self.key, default=_NOTHING)
        if value is not _NOTHING:
            return value
        if self.key == RETURN_KEY:
            return None
        raise NotFound(f"Task {self.operator.task_id!r} has left nothing under the key {self.key!r}.")

    def elements(self, context: Context) -> Sequence[Any]:
        """Fetch the value, which must be a list or a dict."""
        value = self.resolve(context)
        if isinstance(value, dict):
            return list(value.items())
        if isinstance(value, list | tuple):
            return value
        raise TaskFailed(
            f"{context['ti'].task_id!r} is mapped over the result of {self.operator.task_id!r}, "
            f"which is {kind_of(value)} and not a list or a dict."
        )

    def sources(self) -> tuple[Combine, tuple[MapSource, ...]]:
        """Name the XCom."""
        return "zip", (MapSource(task_id=self.operator.task_id, key=self.key),)


class MapXComArg(XComArg):
    """Elements that a function has changed."""

    def __init__(self, arg: XComArg, function: Callable[[Any], Any]) -> None:
        self.arg = arg
        self.function = function

    def needed(self) -> Iterator[Node]:
        """Name the tasks whose elements they are."""
        return self.arg.needed()

    def elements(self, context: Context) -> Sequence[Any]:
        """Call the function on each element when it is asked for."""
        inner = self.arg.elements(context)
        return _Lazy(len(inner), lambda index: self.function(inner[index]))

    def sources(self) -> tuple[Combine, tuple[MapSource, ...]]:
        """There are as many as before."""
        return self.arg.sources()


class _Combined(XComArg):
    combine: Combine

    def __init__(self, args: tuple[XComArg, ...]) -> None:
        for arg in args:
            if not isinstance(arg, XComArg):
                raise mistake(f"Results of tasks are put together with one another, not with {kind_of(arg)}.")
        self.args = args

    def needed(self) -> Iterator[Node]:
        """Name the tasks whose elements they are."""
        return chain.from_iterable(arg.needed() for arg in self.args)

    def sources(self) -> tuple[Combine, tuple[MapSource, ...]]:
        """Gather the sources of all parts, which can be counted only if they are combined in one way."""
        parts = [arg.sources() for arg in self.args]
        if any(len(sources) > 1 and combine != self.combine for combine, sources in parts):
            raise mistake("zip(), zip() with a fillvalue and concat() cannot be put into one another; do it in a task.")
        return self.combine, tuple(chain.from_iterable(sources for _, sources in parts))


class ZipXComArg(_Combined):
    """Elements side by side, as tuples."""

    def __init__(self, args: tuple[XComArg, ...], fillvalue: Any) -> None:
        super().__init__(args)
        self.fillvalue = fillvalue
        self.combine = "zip" if fillvalue is _NOTHING else "zip_longest"

    def elements(self, context: Context) -> Sequence[Any]:
        """Put the elements with one index together."""
        columns = [arg.elements(context) for arg in self.args]
        lengths = [len(column) for column in columns]
        return _Lazy(
            min(lengths) if self.combine == "zip" else max(lengths),
            lambda index: tuple(column[index] if index < len(column) else self.fillvalue for column in columns),
        )


class ConcatXComArg(_Combined):
    """Elements one after the other."""

    combine = "concat"

    def elements(self, context: Context) -> Sequence[Any]:
        """Count through all parts."""
        parts = [arg.elements(context) for arg in self.args]
        places = [(part, index) for part in parts for index in range(len(part))]
        return _Lazy(len(places), lambda place: places[place][0][places[place][1]])


class _Lazy(Sequence[Any]):
    """Elements of which each is made when it is asked for: the function of one may raise a skip."""

    def __init__(self, length: int, make: Callable[[int], Any]) -> None:
        self._length = length
        self._make = make

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < self._length:
            raise IndexError(index)
        return self._make(index)
