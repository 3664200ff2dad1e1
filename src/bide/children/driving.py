"""Running one trigger on an event loop: from the words of its wait to the one event that counts.

Whatever the author's code does, one of three things comes out (`bide.model.wait_over`), or the task that drives it was
cancelled by whoever runs it, and nothing comes out.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, cast

from bide.authoring.place import kind_of
from bide.authoring.starting import CodeUnavailable, find_trigger
from bide.authoring.traces import told, trace_of
from bide.authoring.trigger import BaseTrigger, TaskEndEvent, TriggerEvent
from bide.authoring.values import VALUES
from bide.errors import BideError
from bide.exceptions import SensorTimeout, TaskError, TaskFailed, TaskSkipped
from bide.model.wait_over import Crashes, Ends, Fires, WaitOver

__all__ = ["CodeUnavailable", "as_event", "crash_of", "drive", "find_trigger", "make_trigger", "worded"]

_FINAL = (TaskFailed, SensorTimeout)


def make_trigger(kind: type[BaseTrigger], kwargs: str) -> BaseTrigger:
    """Make a trigger from the opened arguments of its wait."""
    return kind(**VALUES.decode(kwargs))


async def drive(trigger: BaseTrigger, say: Callable[[WaitOver], object]) -> None:
    """Run a trigger to its first event, say what came of it, and let it give back what it has taken.

    When the task that runs this is cancelled, nothing is said; `cleanup` runs all the same.
    """
    events: Any = None
    try:
        try:
            events = trigger.run()
            over = worded(await _first(trigger, events))
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            over = crash_of(error)
            _note(trigger, over)
        say(over)
    finally:
        await _tidy_up(trigger, events)


def crash_of(error: BaseException) -> WaitOver:
    """Tell how a wait ends whose code has raised this."""
    if isinstance(error, TaskSkipped):
        return Ends("skipped", reason=str(error))
    sentence = str(error) if isinstance(error, TaskError | BideError) and str(error) else told(error)
    return Crashes(sentence, trace_of(error), retryable=not isinstance(error, _FINAL))


def _note(trigger: BaseTrigger, over: WaitOver) -> None:
    if isinstance(over, Crashes):
        trigger.log.error("The trigger has failed:\n%s", over.traceback or over.error)


async def _first(trigger: BaseTrigger, events: Any) -> TriggerEvent:
    must_be_events(trigger, events)
    try:
        return first_event(trigger, await anext(events))
    except StopAsyncIteration:
        raise nothing_came(trigger) from None


def must_be_events(trigger: BaseTrigger, events: Any) -> None:
    """Refuse what `run` has returned if nothing can come out of it."""
    if not hasattr(events, "__anext__"):
        if inspect.iscoroutine(events):
            events.close()
        raise TaskError(f"{type(trigger).__name__}.run() is `async def` and yields an event; this one yields nothing.")


def first_event(trigger: BaseTrigger, event: Any) -> TriggerEvent:
    """Refuse what is no event."""
    if not isinstance(event, TriggerEvent):
        raise TaskError(f"{type(trigger).__name__}.run() has yielded {kind_of(event)}, which is no TriggerEvent.")
    return event


def nothing_came(trigger: BaseTrigger) -> TaskError:
    """Say that a trigger has come to its end too early."""
    return TaskError(f"{type(trigger).__name__}.run() has ended without yielding an event.")


def as_event(given: Any) -> TriggerEvent:
    """Take an event as it is, and anything else for the payload of one."""
    return given if isinstance(given, TriggerEvent) else TriggerEvent(given)


def worded(event: TriggerEvent) -> WaitOver:
    """Tell how a wait ends whose trigger has yielded this."""
    if not isinstance(event, TaskEndEvent):
        return Fires(VALUES.encode(event.payload, "payload of the event"))
    xcoms = {key: VALUES.encode(value, f"xcoms[{key!r}]") for key, value in event.xcoms.items()}
    return Ends(cast(Any, event.task_instance_state.value), xcoms, event.reason)


async def _tidy_up(trigger: BaseTrigger, events: Any) -> None:
    """Let `run` leave its blocks, and call `cleanup`. What they raise is logged: the wait is over, whatever it is."""
    for step in (getattr(events, "aclose", None), trigger.cleanup):
        try:
            if step is not None:
                await step()
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            trigger.log.error("Cleaning up has failed:\n%s", trace_of(error))


def _is_cancelled() -> bool:
    """Tell whether somebody has cancelled the task, or its own code has raised CancelledError."""
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0
