"""Tasks that begin in their trigger, and so use no worker until there is something to do.

The scheduler imports nothing of an author's, so whatever it says for such a task stands in the plan: the wait is worded
while the file is read. Where it depends on the run, by a template, a result of another task or an element that the task
is mapped over, a first leg does nothing but word it; that takes a worker for some milliseconds.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, cast

from bide.authoring.deferring import TaskDeferred, as_while, name_of, wait_for
from bide.authoring.mapping import MappedOperator
from bide.authoring.operator import BaseOperator
from bide.authoring.place import near
from bide.authoring.reference import Reference
from bide.authoring.traces import told
from bide.authoring.trigger import BaseTrigger, StartTriggerArgs
from bide.errors import BideError
from bide.exceptions import TaskError
from bide.model.wait import Wait

if TYPE_CHECKING:
    from bide.authoring.context import Context
    from bide.authoring.node import Node

NOT_THERE = "its class was moved or renamed, is misspelt, or is not installed here"
_SIGNS = ("{{", "{%", "{#")


class CodeUnavailable(BideError):
    """The class of a trigger is not where its path says. It may come back, so this is no failure of the task."""


def find_trigger(classpath: str) -> type[BaseTrigger]:
    """Find a class by its path, importing its module if need be."""
    names = classpath.split(".")
    for split in range(len(names) - 1, 0, -1):
        module = _module(".".join(names[:split]))
        if module is None:
            continue
        found: Any = module
        for name in names[split:]:
            found = getattr(found, name, None)
        if is_trigger(found):
            return cast(type[BaseTrigger], found)
        meant = near(names[-1], [name for name, value in vars(module).items() if is_trigger(value)])
        raise CodeUnavailable(f"There is no trigger {classpath}: {NOT_THERE}{meant}")
    raise CodeUnavailable(f"There is no trigger {classpath}: {NOT_THERE}.")


def is_trigger(value: object) -> bool:
    """Tell whether something is a class of triggers."""
    return isinstance(value, type) and issubclass(value, BaseTrigger)


def _module(name: str) -> object | None:
    try:
        # Also where it is known already: another thread may be in the middle of importing it.
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Not there, or its last names are those of classes; or something that it imports is not there.
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise


def begins_in_trigger(task: Node) -> bool:
    """Tell whether a task, or each instance of it, begins in its trigger."""
    if isinstance(task, MappedOperator):
        given = task.argument("start_from_trigger")
        return bool(task.operator_class.start_from_trigger if given is None else given)
    return isinstance(task, BaseOperator) and task.start_from_trigger


def planned_start(task: Node, needs_worker: bool) -> tuple[Wait | None, bool]:
    """Word the wait that a task begins with, if it does; or tell that a first leg has to word it."""
    if not begins_in_trigger(task):
        return None, False
    if not isinstance(task, BaseOperator) or needs_worker:
        return None, True
    args = _args(task)
    if _depends_on_run([args.trigger_kwargs, args.next_kwargs]):
        return None, True
    try:
        trigger = _made(args, args.trigger_kwargs or {})
        return wait_for(trigger, name_of(args.next_method), args.next_kwargs or {}, as_while(args.timeout)), False
    except Exception as error:
        said = str(error) if isinstance(error, BideError | TaskError) else told(error)
        raise task.mistake(f"it cannot begin in its trigger: {said}", task.place) from error


def start_in_trigger(task: BaseOperator, context: Context) -> NoReturn:
    """Begin in the trigger, with the values of this run in its arguments."""
    args = _args(task)
    trigger = _made(args, task.render_template(args.trigger_kwargs or {}, context))
    raise TaskDeferred(
        trigger=trigger,
        method_name=args.next_method,
        kwargs=task.render_template(args.next_kwargs or {}, context),
        timeout=args.timeout,
    )


def _args(task: BaseOperator) -> StartTriggerArgs:
    if task.start_trigger_args is None:
        raise task.mistake(
            "with start_from_trigger it needs start_trigger_args: which trigger it begins in.", task.place
        )
    return task.start_trigger_args


def _made(args: StartTriggerArgs, kwargs: Mapping[str, Any]) -> BaseTrigger:
    kind = find_trigger(args.trigger_cls) if isinstance(args.trigger_cls, str) else args.trigger_cls
    return kind(**kwargs)


def _depends_on_run(value: object) -> bool:
    if isinstance(value, str):
        return any(sign in value for sign in _SIGNS)
    if isinstance(value, Mapping):
        return any(map(_depends_on_run, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_depends_on_run, value))
    return isinstance(value, Reference)
