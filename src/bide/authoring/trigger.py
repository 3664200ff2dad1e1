"""What an author derives triggers from: the waiter of a deferred task, and the events that end its waiting."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from bide.exceptions import TaskError
from bide.model.states import TaskState

LOG = "bide.trigger"


class TriggerEvent:
    """What a trigger yields when the waiting is over: the task goes on, and is given the payload as `event`."""

    def __init__(self, payload: Any = None) -> None:
        self.payload = payload

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.payload!r})"


class TaskEndEvent(TriggerEvent):
    """What a trigger yields when nothing is left to do: it ends the task, and no worker is needed. XComs by key."""

    task_instance_state: ClassVar[TaskState]

    def __init__(self, *, xcoms: Mapping[str, Any] | None = None, reason: str = "") -> None:
        super().__init__(self.task_instance_state.value)
        self.xcoms = dict(xcoms or {})
        self.reason = reason


class TaskSuccessEvent(TaskEndEvent):
    """The task has succeeded."""

    task_instance_state = TaskState.SUCCESS


class TaskFailedEvent(TaskEndEvent):
    """The task has failed; it is tried again if tries are left."""

    task_instance_state = TaskState.FAILED


class TaskSkippedEvent(TaskEndEvent):
    """The task counts as skipped."""

    task_instance_state = TaskState.SKIPPED


@dataclass(frozen=True)
class Timer:
    """When a wait is over that waits for nothing but a date or a while, and what happens then.

    A trigger that can say this is a row with a date: no process ever loads it.
    """

    due: datetime | timedelta
    event: TriggerEvent


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """A task that waits for a trigger."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = -1
    try_number: int = 1


class BaseTrigger:
    """Waits for one thing. A class of your own says in `run` how it notices, without ever blocking.

    It is made twice: by the task that defers, and, from what `serialize` has returned, by whoever runs it. It may run
    more than once, when its process is lost; what it tells the task counts once.
    """

    # Equal arguments mean the same wait: however many tasks wait for it, it runs once, and each goes on once.
    shared: ClassVar[bool] = False

    # Set for `run`, `cleanup` and `on_kill`: the number of the wait, and a task that waits for it.
    trigger_id: int | None = None
    task_instance: WaitingTask | None = None

    def __init__(self, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            setattr(self, name, value)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the path of the class and the arguments to make it again. By default, attributes named like them."""
        kind = type(self)
        if "<locals>" in kind.__qualname__:
            raise TaskError(
                f"{kind.__name__} is a class within a function, so nobody else can find it: write it outside of all "
                "functions, in the DAG file or in a module."
            )
        arguments = [name for name, each in inspect.signature(kind).parameters.items() if each.kind not in _STARRED]
        for name in arguments:
            if not hasattr(self, name):
                raise TaskError(
                    f"{kind.__name__} keeps no attribute {name!r}, so it cannot be made again: keep the argument under "
                    "its name, or write serialize()."
                )
        return f"{kind.__module__}.{kind.__qualname__}", {name: getattr(self, name) for name in arguments}

    def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and yield an event. The first one counts."""
        raise TaskError(f"{type(self).__name__} has no method run(self), so it would wait for nothing.")

    async def cleanup(self) -> None:
        """Give back what `run` has taken. Called whatever the end was; also when the wait moves to another process."""

    async def on_kill(self, reason: str) -> None:
        """Stop what goes on elsewhere. Called when somebody has decided that the wait ends, and only then."""

    def timer(self) -> Timer | None:
        """Say when the wait is over, if that is known beforehand; then nothing of this class is ever run."""
        return None

    def needs_dag_files(self) -> bool:
        """Tell whether it needs code from the folder of DAG files beside its own class."""
        return False

    @property
    def log(self) -> logging.Logger:
        """Where the trigger writes; it lands in the log of its task."""
        return logging.getLogger(f"{LOG}.{type(self).__name__}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of wait {self.trigger_id}>"


_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass
class StartTriggerArgs:
    """How a task begins in its trigger, with `start_from_trigger`: no worker is used for that.

    The trigger is given as a class or as the path of one. Its arguments may hold templates and results of other tasks.
    """

    trigger_cls: str | type[BaseTrigger]
    next_method: str | None = None
    trigger_kwargs: dict[str, Any] | None = None
    next_kwargs: dict[str, Any] | None = None
    timeout: timedelta | float | None = None
