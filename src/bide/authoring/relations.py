"""The order of tasks as an author writes it: `a >> b`, lists, `chain`, `cross_downstream`, labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from bide.authoring.place import here, kind_of, mistake

if TYPE_CHECKING:
    from bide.authoring.node import Node

Related = TypeVar("Related", bound="Relatable | Label | Sequence[Any]")


class Relatable:
    """Something that stands in the order of tasks: a task, a group of them, or what a task returns."""

    @property
    def roots(self) -> list[Node]:
        """The tasks that come first in it."""
        raise NotImplementedError

    @property
    def leaves(self) -> list[Node]:
        """The tasks that come last in it."""
        raise NotImplementedError

    def set_downstream(self, other: Ordered, edge_modifier: Label | None = None) -> None:
        """Let another one come after this one."""
        join(self, other)

    def set_upstream(self, other: Ordered, edge_modifier: Label | None = None) -> None:
        """Let another one come before this one."""
        join(other, self)

    def __rshift__(self, other: Related) -> Related:
        join(self, other)
        return other

    def __lshift__(self, other: Related) -> Related:
        join(other, self)
        return other

    def __rrshift__(self, other: Sequence[Relatable]) -> Relatable:
        join(other, self)
        return self

    def __rlshift__(self, other: Sequence[Relatable]) -> Relatable:
        join(self, other)
        return self


class Label:
    """A word on an arrow, as in `a >> Label("if it rains") >> b`. It is for the eye and changes nothing."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.before: list[Relatable] = []
        self.after: list[Relatable] = []

    def __rshift__(self, other: Related) -> Related:
        join(self, other)
        return other

    def __lshift__(self, other: Related) -> Related:
        join(other, self)
        return other

    def __rrshift__(self, other: Sequence[Relatable]) -> Label:
        join(other, self)
        return self

    def __rlshift__(self, other: Sequence[Relatable]) -> Label:
        join(self, other)
        return self


Ordered: TypeAlias = Relatable | Label | Sequence[Any]


def join(before: Ordered, after: Ordered) -> None:
    """Let the last tasks of one side come before the first tasks of the other side."""
    # A label stands between two sides and is met twice: it keeps the side that it meets first.
    if isinstance(after, Label):
        after.before += _flat(before)
        join(before, after.after)
        return
    if isinstance(before, Label):
        before.after += _flat(after)
        join(before.before, after)
        return
    place = here()
    for upstream in [task for side in _flat(before) for task in side.leaves]:
        for downstream in [task for side in _flat(after) for task in side.roots]:
            upstream.comes_before(downstream, place)


def _flat(side: object) -> list[Relatable]:
    if isinstance(side, Relatable):
        return [side]
    if isinstance(side, list | tuple):
        return [item for inner in side for item in _flat(inner)]
    hint = "; call it, as in f() instead of f" if hasattr(side, "override") else ""
    raise mistake(f"Tasks are put in order with tasks, groups and lists of them, not with {kind_of(side)}{hint}.")


def chain(*tasks: Ordered) -> None:
    """Put tasks one after the other. Two lists side by side are joined pair by pair and must be equally long."""
    for before, after in pairwise(tasks):
        if isinstance(before, list | tuple) and isinstance(after, list | tuple):
            if len(before) != len(after):
                raise mistake(
                    f"chain() joins two lists pair by pair, but these have {len(before)} and {len(after)} tasks; "
                    "use chain_linear() to join each with each."
                )
            for one, other in zip(before, after, strict=True):
                join(one, other)
        else:
            join(before, after)


def chain_linear(*tasks: Ordered) -> None:
    """Put tasks one after the other. Of two lists side by side, each task of one is joined with each of the other."""
    for before, after in pairwise(tasks):
        join(before, after)


def cross_downstream(from_tasks: Iterable[Relatable], to_tasks: Ordered) -> None:
    """Let each of some tasks come before each of some others."""
    join(list(from_tasks), to_tasks)
