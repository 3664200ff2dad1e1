"""From what a task returned or raised to the outcome of its leg."""

from __future__ import annotations

from typing import Any

from bide.authoring.deferring import TaskDeferred
from bide.authoring.instance import RuntimeTaskInstance
from bide.authoring.mapping import MappedOperator
from bide.authoring.operator import BaseOperator
from bide.authoring.place import kind_of
from bide.authoring.traces import told, trace_of
from bide.authoring.values import VALUES, in_utc
from bide.authoring.xcomarg import RETURN_KEY
from bide.errors import BideError
from bide.exceptions import (
    ParamsRefused,
    SensorTimeout,
    TaskError,
    TaskFailed,
    TaskRescheduled,
    TaskSkipped,
    TaskTerminated,
    TaskTimeout,
)
from bide.model.outcome import Deferred, Failed, Outcome, Rescheduled, Skipped, Succeeded
from bide.model.plan import SKIPS_KEY

_FINAL = (TaskFailed, SensorTimeout, ParamsRefused)
_OURS = (TaskError, TaskTimeout, TaskTerminated, BideError)


def success(task: BaseOperator, ti: RuntimeTaskInstance, returned: Any) -> Succeeded:
    """Turn what a task returned into XComs; refuse what cannot be stored, or what others cannot be mapped over."""
    xcoms = {}
    if task.do_xcom_push and returned is not None:
        xcoms[RETURN_KEY] = VALUES.encode(returned, "return value")
        if task.multiple_outputs:
            xcoms |= _by_key(returned)
    if ti.map_index < 0:  # what the instances of a mapped task return makes a list in any case
        _refuse_unmappable(task, returned)
    if ti.skipped is not None:
        xcoms[SKIPS_KEY] = VALUES.encode(ti.skipped)
    return Succeeded(xcoms)


def _by_key(returned: Any) -> dict[str, str]:
    if not isinstance(returned, dict):
        raise TaskError(f"With multiple_outputs a task returns a dict, but this one has returned {kind_of(returned)}.")
    for key in returned:
        if not isinstance(key, str):
            raise TaskError(f"With multiple_outputs the keys of the dict are texts, but one is {kind_of(key)}.")
    return {key: VALUES.encode(value, f"return value[{key!r}]") for key, value in returned.items()}


def _refuse_unmappable(task: BaseOperator, returned: Any) -> None:
    if isinstance(returned, list | tuple | dict):
        return
    for after in task.downstream_list:
        if isinstance(after, MappedOperator) and _is_mapped_over(after, task.task_id):
            raise TaskFailed(
                f"Task {after.task_id!r} is mapped over what this one returns, so that must be a list or a dict, "
                f"not {kind_of(returned)}."
            )


def _is_mapped_over(mapped: MappedOperator, task_id: str) -> bool:
    sources = [source for each in mapped.expansion.plan.inputs for source in each.sources]
    return any(source.task_id == task_id and source.key == RETURN_KEY for source in sources)


def outcome_of(error: BaseException) -> Outcome:
    """Turn what a task raised into the outcome of its leg."""
    match error:
        case TaskSkipped():
            return Skipped(str(error))
        case TaskDeferred():
            return Deferred(error.wait)
        case TaskRescheduled():
            return _look_again(error)
        case SystemExit():
            return _failed(error, f"The task has ended its process ({told(error)}).")
        case KeyboardInterrupt():
            return _failed(error, "The task was interrupted.")
        case RecursionError():
            return _failed(error, f"The task calls itself too deeply ({error}).")
        case _ if isinstance(error, _OURS) and str(error):
            return _failed(error, str(error))
        case _:
            return _failed(error, told(error))


def _look_again(error: TaskRescheduled) -> Outcome:
    try:
        return Rescheduled(until=in_utc(error.until), after=error.after)
    except Exception as wrong:  # a date that is none
        return _failed(error, str(wrong))


def _failed(error: BaseException, sentence: str) -> Failed:
    return Failed(sentence, trace_of(error), retryable=not isinstance(error, _FINAL))
