"""Which DAG and which group are open at the moment, and what has come to be since somebody began to watch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bide.authoring.dag import DAG
    from bide.authoring.group import TaskGroup
    from bide.authoring.node import Node


class Scope(NamedTuple):
    """What a new task belongs to."""

    dag: DAG | None = None
    group: TaskGroup | None = None


@dataclass
class Sight:
    """What has come to be while somebody watched: the DAGs that were opened, and all tasks."""

    dags: list[DAG] = field(default_factory=list)
    tasks: list[Node] = field(default_factory=list)


_open: list[Scope] = [Scope()]
_watched: list[Sight] = []


def current() -> Scope:
    """Return what a task that is made now belongs to."""
    return _open[-1]


def home(dag: DAG | None, group: TaskGroup | None) -> Scope:
    """Return what a new task belongs to if this is what its author says about it."""
    opened = current()
    if group is None and (dag is None or dag is opened.dag):
        group = opened.group
    if dag is None:
        dag = opened.dag if group is None else group.dag
    return Scope(dag, group)


def enter(scope: Scope) -> None:
    """Open a DAG or a group: what is made from now on belongs to it."""
    _open.append(scope)
    if _watched and scope.dag is not None and scope.dag.auto_register and scope.dag not in _watched[-1].dags:
        _watched[-1].dags.append(scope.dag)


def leave() -> None:
    """Close what was opened last."""
    _open.pop()


def is_watched() -> bool:
    """Tell whether somebody watches what comes to be, as while a DAG file is read."""
    return bool(_watched)


def note(task: Node) -> None:
    """Remember a new task for whoever watches."""
    if _watched:
        _watched[-1].tasks.append(task)


@contextmanager
def watching() -> Iterator[Sight]:
    """Watch what comes to be, with nothing open at first and nothing left open at the end."""
    sight = Sight()
    outside = _open[:]
    _open[:] = [Scope()]
    _watched.append(sight)
    try:
        yield sight
    finally:
        _watched.pop()
        _open[:] = outside
