"""One trigger of a runner: from its making over its event to the end of its cleanup, all in one asyncio task.

Waiting must be cheap, so a trigger that waits is the author's own generator, one asyncio task, and little around them:
no coroutine of ours lies between the two. `Drive` is what the task steps through; whatever comes out of one phase (the
event, an exception of any kind) is told at once, and the next phase begins in the same task.
"""

import asyncio
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NoReturn, Protocol

from bide.authoring.trigger import BaseTrigger
from bide.children.driving import must_be_events
from bide.children.making import complain, made_of, over_of, said_of, why_not
from bide.children.steps import Account, Measured
from bide.model.questions import Ask
from bide.model.trigger_messages import News, NotThere, OnKillCalled, RunTrigger, WaitIsOver


class Phase(IntEnum):
    """How far a trigger has come."""

    MAKING = 0
    WAITING = 1
    KILLING = 2
    CLOSING = 3
    CLEANING = 4
    OVER = 5


class Desk(Protocol):
    """Whom running triggers report to."""

    def tell(self, news: News) -> None:
        """Something has become of one."""

    def over(self, running: "Running") -> None:
        """It has cleaned up."""

    def outdated(self, classpath: str) -> None:
        """A class is not what it should be."""

    def ask(self, running: "Running", question: Ask) -> "asyncio.Future[Any]":
        """It wants to know something."""


class Running(Account):
    """One trigger that runs here. `is_stopping` once it was told to go; `kill_reason` if by way of its `on_kill`."""

    __slots__ = ("desk", "events", "id", "is_stopping", "kill_reason", "phase", "task", "trigger")

    def __init__(self, number: int, id: int, desk: Desk) -> None:
        super().__init__(number)
        self.id = id
        self.desk = desk
        self.phase = Phase.MAKING
        self.trigger: Any = None
        self.events: Any = None
        self.task: asyncio.Task[None] | None = None
        self.is_stopping = False
        self.kill_reason: str | None = None

    def stop(self) -> None:
        """Let it clean up and go."""
        self.is_stopping = True
        if self.phase <= Phase.WAITING and self.task is not None:
            self.task.cancel()

    def kill(self, reason: str) -> None:
        """Let it run its `on_kill`, clean up and go. What is about to be made is made for that."""
        self.kill_reason = reason
        if self.phase is Phase.WAITING:
            self.stop()

    async def ask(self, question: Ask) -> Any:
        """Ask the engine on its behalf."""
        return await self.desk.ask(self, question)


class Drive(Measured):
    """Leads a trigger through its phases."""

    __slots__ = ("_kind", "_order", "_running")

    def __init__(self, running: Running, kind: type, order: RunTrigger) -> None:
        super().__init__(_BEFORE, running)
        self._running = running
        self._kind = kind
        self._order: RunTrigger | None = order

    def _go(self, go: Callable[..., Any], *arguments: Any) -> Any:
        while True:
            value, error = None, None
            try:
                return go(*arguments)
            except StopIteration as stop:
                value = stop.value
            except BaseException as raised:
                error = raised
            following = self._after(value, error)
            if following is None:
                break
            self._inner, go, arguments = following, following.send, (None,)
        self._inner = _BEFORE
        self._running.desk.over(self._running)
        raise StopIteration

    def _after(self, value: Any, error: BaseException | None) -> Any:
        """Say how a phase has ended, and return what the next one awaits; None after the last."""
        running = self._running
        match running.phase:
            case Phase.MAKING if error is None:
                return self._make()
            case Phase.WAITING:
                if running.kill_reason is not None:
                    return self._on_kill()
                if not running.is_stopping:
                    running.desk.tell(WaitIsOver(running.number, over_of(running.trigger, value, error)))
            case Phase.KILLING:
                if error is not None:
                    complain(running.trigger, "on_kill", error)
                running.desk.tell(OnKillCalled(running.number, "" if error is None else said_of(error)))
            case Phase.CLOSING | Phase.CLEANING if error is not None:
                complain(running.trigger, "Cleaning up", error)
            case _:
                pass
        return self._close()

    def _make(self) -> Any:
        running, order, self._order = self._running, self._order, None
        assert order is not None
        made = made_of(self._kind, order)
        if isinstance(made, NotThere | WaitIsOver):
            if isinstance(made, NotThere):
                running.desk.outdated(order.classpath)
            running.phase = Phase.OVER
            running.desk.tell(made if running.kill_reason is None else OnKillCalled(running.number, why_not(made)))
            return None
        running.trigger = made
        if running.kill_reason is not None:
            return self._on_kill()
        running.phase = Phase.WAITING
        return begun(self._first_event)

    def _first_event(self) -> Any:
        events = self._running.trigger.run()
        must_be_events(self._running.trigger, events)
        self._running.events = events
        return events.__anext__()

    def _on_kill(self) -> Any:
        self._running.phase = Phase.KILLING
        return begun(self._running.trigger.on_kill, self._running.kill_reason)

    def _close(self) -> Any:
        running = self._running
        if running.phase < Phase.CLOSING:
            running.phase = Phase.CLOSING
            events, running.events = running.events, None
            # One that has come to its end has nothing left to close.
            if getattr(events, "aclose", None) is not None and getattr(events, "ag_frame", events) is not None:
                return begun(events.aclose)
        if running.phase < Phase.CLEANING:
            running.phase = Phase.CLEANING
            if getattr(type(running.trigger), "cleanup", BaseTrigger.cleanup) is not BaseTrigger.cleanup:
                return begun(running.trigger.cleanup)
        running.phase = Phase.OVER
        return None


class _Before:
    """Stands where there is nothing to step through: before the first step, and after the last."""

    def send(self, _value: object) -> NoReturn:
        raise StopIteration

    def throw(self, *error: Any) -> NoReturn:
        raise error[1] if len(error) > 1 and error[1] is not None else error[0]

    def close(self) -> None:
        """Nothing is open."""


_BEFORE = _Before()


def begun(act: Callable[..., Any], *arguments: Any) -> Any:
    """Call what should return something to await, and return what can be stepped through whatever it does."""
    try:
        awaitable = act(*arguments)
    except BaseException as error:
        return _raising(error)
    return awaitable if hasattr(awaitable, "send") and hasattr(awaitable, "throw") else _awaiting(awaitable)


async def _awaiting(awaitable: Any) -> Any:
    return await awaitable if hasattr(awaitable, "__await__") else awaitable


async def _raising(error: BaseException) -> NoReturn:
    raise error
