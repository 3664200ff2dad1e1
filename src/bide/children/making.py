"""From an author's class to a trigger, and from what came out of it to the words that the triggerer understands."""

import inspect
from collections.abc import Mapping
from contextlib import suppress
from sys import intern
from typing import Any

from bide.authoring.traces import told, trace_of
from bide.authoring.trigger import WaitingTask
from bide.authoring.values import VALUES
from bide.children.driving import crash_of, first_event, nothing_came, worded
from bide.errors import CodecError
from bide.model.trigger_messages import NotThere, RunTrigger, WaitIsOver
from bide.model.wait_over import Crashes, WaitOver


def made_of(kind: type, order: RunTrigger) -> Any:
    """Make a trigger, or say why there is none. What may be right again when the code is another is `NotThere`."""
    try:
        arguments = VALUES.decode(order.kwargs)
    except CodecError as error:
        return NotThere(order.number, f"Its arguments cannot be read: {error}")
    if not isinstance(arguments, Mapping):
        return NotThere(order.number, "Its arguments are no dict.")
    try:
        made = kind(**arguments)
        made.trigger_id, made.task_instance = order.id, _task_of(order)
    except BaseException as error:
        if isinstance(error, TypeError) and not takes(kind, arguments):
            return NotThere(order.number, f"{order.classpath} does not take the arguments of this wait: {error}.")
        return crashed(order.number, error)
    return made


def why_not(made: NotThere | WaitIsOver) -> str:
    """Say why a trigger could not be made."""
    if isinstance(made, NotThere):
        return made.why
    return made.how.error if isinstance(made.how, Crashes) else "it could not be made"


def _task_of(order: RunTrigger) -> WaitingTask | None:
    task = order.task
    if task is None:
        return None
    # Thousands of triggers wait for the same few DAGs and runs.
    names = intern(task.dag_id), intern(task.run_id), intern(task.task_id)
    return WaitingTask(*names, task.map_index, task.try_number)


def takes(kind: type, arguments: Mapping[str, Any]) -> bool:
    """Say whether a class can be made with these arguments."""
    try:
        inspect.signature(kind).bind(**arguments)
    except TypeError:
        return False
    except BaseException:
        return True
    return True


def over_of(trigger: Any, value: Any, error: BaseException | None) -> WaitOver:
    """Word what a trigger has yielded or raised."""
    if isinstance(error, StopAsyncIteration):
        error = nothing_came(trigger)
    if error is None:
        try:
            return worded(first_event(trigger, value))
        except BaseException as raised:
            error = raised
    return crash(error)


def crashed(number: int, error: BaseException) -> WaitIsOver:
    """Word what was raised before a trigger was there."""
    return WaitIsOver(number, crash(error))


def crash(error: BaseException) -> WaitOver:
    """Word an exception, even one that cannot be worded."""
    with suppress(BaseException):
        return crash_of(error)
    return Crashes(type(error).__name__)


def complain(trigger: Any, what: str, error: BaseException) -> None:
    """Leave in the log of the task what went wrong where nobody waits for it."""
    with suppress(BaseException):
        trigger.log.error("%s has failed:\n%s", what, trace_of(error) or told(error))


def said_of(error: BaseException) -> str:
    """Say in one line what was raised."""
    with suppress(BaseException):
        return told(error)
    return type(error).__name__
