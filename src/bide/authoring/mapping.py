"""Mapped tasks: `.partial()`, `.expand()`, and what they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

from bide.authoring.arguments import COMMON, PLACING, OperatorArguments
from bide.authoring.construction import construct, defaults_in_force, refuse_missing, refuse_unknown, taken_by
from bide.authoring.expansion import Expansion, KeywordSets
from bide.authoring.node import Node
from bide.authoring.place import mistake
from bide.authoring.reference import needed_by

if TYPE_CHECKING:
    from bide.authoring.context import Context
    from bide.authoring.operator import BaseOperator

Kind = TypeVar("Kind", bound="BaseOperator")


class MappedOperator(Node):
    """One task for each element of something, which is known only when the tasks before it have ended."""

    def __init__(
        self,
        *,
        operator_class: type[BaseOperator],
        partial_kwargs: Mapping[str, Any],
        expansion: Expansion,
        into: str | None = None,
        **kwargs: Unpack[OperatorArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.operator_class = operator_class
        self.partial_kwargs = partial_kwargs
        self.expansion = expansion
        # The dict that what differs goes into: functions take their arguments in `op_kwargs`.
        self.into = into

    @property
    def task_type(self) -> str:
        """The name of the class that each instance has."""
        return self.operator_class.__name__

    @property
    def operator_name(self) -> str:
        """What people are shown as its kind."""
        return self.operator_class.custom_operator_name or self.task_type

    @property
    def is_mapped(self) -> bool:
        """It is."""
        return True

    @property
    def branches(self) -> bool:
        """Whether its instances say which tasks are to be skipped."""
        return self.operator_class.branches

    def argument(self, name: str, default: Any = None) -> Any:
        """Return what is the same for all instances under a name that not all operators know."""
        if name in self.partial_kwargs:
            return self.partial_kwargs[name]
        return self._defaults.get(name, taken_by(self.operator_class).defaults.get(name, default))

    @property
    def _defaults(self) -> Mapping[str, Any]:
        return self.__dict__["_defaults"]  # type: ignore[no-any-return]

    def needed(self) -> Iterator[Node]:
        """List the tasks whose results it goes over, or takes as they are."""
        yield from self.expansion.needed()
        yield from needed_by(dict(self.partial_kwargs))

    def unmap(self, context: Context, map_index: int) -> BaseOperator:
        """Make the operator of one instance."""
        element = self.expansion.element(context, map_index)
        given = {name: value for name, value in self.partial_kwargs.items() if name not in PLACING}
        if self.into is None:
            refuse_unknown(self.operator_class, element.arguments)
            given |= element.arguments
        else:
            given[self.into] = {**given.get(self.into, {}), **element.arguments}
        operator: BaseOperator = construct(self.operator_class, {**given, "task_id": self.task_id}, self._defaults)
        operator.stand_for(self, element.data)
        return operator


class Partial(Generic[Kind]):
    """Arguments that are the same for all instances of a mapped task. `.expand()` makes the task."""

    def __init__(self, operator_class: type[Kind], given: Mapping[str, Any], into: str | None = None) -> None:
        refuse_unknown(operator_class, given)
        self._class = operator_class
        self._given = given
        self._into = into

    def expand(self, **mapped: Any) -> MappedOperator:
        """Make one task for each element; of several inputs, for each combination of their elements."""
        if not mapped:
            raise mistake("expand() needs something to go over, such as expand(x=[1, 2, 3]).")
        return self.over(Expansion(mapped))

    def expand_kwargs(self, kwargs: Any) -> MappedOperator:
        """Make one task for each dict of arguments in a list."""
        return self.over(KeywordSets(kwargs))

    def over(self, expansion: Expansion) -> MappedOperator:
        """Make the task that goes over this."""
        if self._into is None:
            self._check(expansion.names())
            if not isinstance(expansion, KeywordSets):
                refuse_missing(self._class, {*expansion.names(), *self._given, *defaults_in_force(self._given)})
        return MappedOperator(
            operator_class=self._class,
            partial_kwargs=self._given,
            expansion=expansion,
            into=self._into,
            **{name: value for name, value in self._given.items() if name in COMMON},
        )

    def _check(self, names: set[str]) -> None:
        refuse_unknown(self._class, sorted(names))
        for name in sorted(names):
            if name in self._given:
                raise mistake(f"{name} stands in partial() and in expand(); it is either the same for all or not.")
            if name in COMMON:
                raise mistake(f"{name} must be the same for all elements; pass it to partial().")
