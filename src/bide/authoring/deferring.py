"""From a trigger in an author's hands to the wait that is stored: it is made text here, in the author's own stack."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, NoReturn

from bide.authoring.imports import is_below_a_root
from bide.authoring.place import kind_of
from bide.authoring.trigger import BaseTrigger, TaskSuccessEvent
from bide.authoring.values import VALUES, in_utc
from bide.exceptions import TaskError
from bide.model.wait import Wait

AGAIN = "execute"
"""Where a task goes on that does not say where."""


class TaskDeferred(BaseException):
    """The task has nothing to do but wait. Not an Exception, so that `except Exception` in a task does not swallow it.

    Raise it yourself or let `defer` do that. What cannot be stored is refused where it is made.
    """

    def __init__(
        self,
        *,
        trigger: BaseTrigger,
        method_name: str | Callable[..., Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        timeout: timedelta | float | None = None,
    ) -> None:
        self.function = method_name if callable(method_name) else None
        self.method_name = name_of(method_name)
        super().__init__(f"waits for {type(trigger).__name__}, then goes on in {self.method_name}")
        self.trigger = trigger
        self.kwargs = dict(kwargs or {})
        self.timeout = as_while(timeout)
        self.wait = wait_for(trigger, self.method_name, self.kwargs, self.timeout)


def defer(
    trigger: BaseTrigger,
    method_name: str | Callable[..., Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    timeout: timedelta | float | None = None,
) -> NoReturn:
    """Leave the worker until the trigger yields an event; then the task goes on, with what that carries as `event`.

    It goes on in a method of its operator, or in a function: the one that is given, by itself or by its name, which has
    to stand where the task's own function can see it. By default it begins again in `execute`, or in the function of
    the task, whose argument `event` is None the first time. `kwargs` are passed on.
    """
    raise TaskDeferred(trigger=trigger, method_name=method_name, kwargs=kwargs, timeout=timeout)


def name_of(method: str | Callable[..., Any] | None) -> str:
    """Name what a task goes on in, as it is stored."""
    if method is None:
        return AGAIN
    if isinstance(method, str):
        return method
    name: str = getattr(method, "__name__", "")
    if not name.isidentifier():
        raise TaskError("A task goes on in a method or in a function that has a name; a lambda has none.")
    return name


def wait_for(
    trigger: BaseTrigger, method_name: str, kwargs: Mapping[str, Any], timeout: timedelta | None = None
) -> Wait:
    """Word a wait for a trigger."""
    if not isinstance(trigger, BaseTrigger):
        raise TaskError(
            f"A task defers to a trigger, an instance of a class below BaseTrigger, not {kind_of(trigger)}."
        )
    classpath, arguments = _serialized(trigger)
    text = VALUES.encode(arguments, f"kwargs of {type(trigger).__name__}")
    own_code = stands_in_dag_files(trigger)
    timer = trigger.timer()
    due = None if timer is None else timer.due
    ends = timer is not None and isinstance(timer.event, TaskSuccessEvent)
    return Wait(
        classpath=classpath,
        kwargs=text,
        next_method=method_name,
        next_kwargs=VALUES.encode(dict(kwargs), "kwargs of defer"),
        timeout=timeout,
        due_at=in_utc(due) if isinstance(due, datetime) else None,
        due_in=due if isinstance(due, timedelta) else None,
        event=None if timer is None or ends else VALUES.encode(timer.event.payload, "payload of the timer's event"),
        ends=ends,
        shared_key=_shared_key(classpath, arguments) if type(trigger).shared and timer is None else None,
        on_kill=type(trigger).on_kill is not BaseTrigger.on_kill and timer is None,
        own_code=own_code,
    )


def as_while(given: timedelta | float | None) -> timedelta | None:
    """Take seconds for what they are."""
    return timedelta(seconds=given) if isinstance(given, int | float) else given


def stands_in_dag_files(trigger: BaseTrigger) -> bool:
    """Tell whether the class comes from the folder of DAG files: then it is run in the state that this task runs in."""
    module = sys.modules.get(type(trigger).__module__)
    return is_below_a_root(getattr(module, "__file__", None)) or trigger.needs_dag_files()


def _serialized(trigger: BaseTrigger) -> tuple[str, dict[str, Any]]:
    said = trigger.serialize()
    if not (isinstance(said, tuple) and len(said) == 2 and isinstance(said[0], str) and isinstance(said[1], Mapping)):
        raise TaskError(
            f"{type(trigger).__name__}.serialize() returns the path of its class and a dict of its arguments, "
            f"not {kind_of(said)}."
        )
    return said[0], dict(said[1])


def _shared_key(classpath: str, arguments: Mapping[str, Any]) -> str:
    text = VALUES.encode(dict(sorted(arguments.items())), "kwargs")
    return f"{classpath[:150]}:{hashlib.sha256(text.encode()).hexdigest()}"
