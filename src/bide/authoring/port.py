"""The way from an author's code to the engine: one question, one answer.

A task asks with `ask`, and waits. A trigger asks with `await async_ask`, and the others on its event loop go on; code
that it runs in a thread (`asyncio.to_thread`) asks as tasks do.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from bide.errors import BideError
from bide.exceptions import EngineRefused
from bide.model.questions import CONNECTION_IN_ENVIRONMENT, VARIABLE_IN_ENVIRONMENT, Ask, GetConnection, GetVariable

NOBODY = (
    "There is nobody here who could be asked: no task and no trigger runs, and no service of Bide reads this file. Try "
    "it out with `bide dags test`, or set variables and connections in the environment: BIDE_VAR_NAME, BIDE_CONN_ID."
)


class Port(Protocol):
    """Answers the questions of a leg, from whichever thread they come. Whoever runs legs brings one."""

    def ask(self, question: Ask) -> Any:
        """Return the answer, or raise a BideError with a sentence for the task's author."""


class AsyncPort(Protocol):
    """Answers the questions of one trigger, on the event loop that it runs in. Whoever runs triggers brings one."""

    async def ask(self, question: Ask) -> Any:
        """Return the answer, or raise a BideError with a sentence for the trigger's author."""


# Not a context variable: threads that a task starts may ask too.
_open: list[Port] = []
# A context variable: many triggers run in one process, each with a port of its own.
_of_trigger: ContextVar[tuple[AsyncPort, asyncio.AbstractEventLoop] | None] = ContextVar("of_trigger", default=None)


@contextmanager
def answering(port: Port) -> Iterator[None]:
    """Let a port answer everything that is asked meanwhile."""
    _open.append(port)
    try:
        yield
    finally:
        _open.remove(port)


def is_answered() -> bool:
    """Tell whether there is somebody to ask, as while a task runs."""
    return bool(_open)


@contextmanager
def answering_async(port: AsyncPort) -> Iterator[None]:
    """Let a port answer what is asked by this asyncio task, by tasks that it starts, and by code that it has threads
    run. Entered in the task that drives a trigger."""
    token = _of_trigger.set((port, asyncio.get_running_loop()))
    try:
        yield
    finally:
        _of_trigger.reset(token)


def answer_from_now_on(port: AsyncPort, loop: asyncio.AbstractEventLoop) -> None:
    """Let a port answer what is asked in this context, which belongs to one trigger."""
    _of_trigger.set((port, loop))


def ask(question: Ask) -> Any:
    """Ask the engine, and wait for the answer."""
    found = _of_trigger.get()
    if found is not None:
        return _ask_from_thread(question, *found)
    if not _open:
        return _from_environment(question)
    try:
        return _open[-1].ask(question)
    except BideError as error:
        # Authors catch what tasks raise, and this is raised in a task.
        raise EngineRefused(str(error)) from None


def _from_environment(question: Ask) -> str:
    """Answer an author who imports a DAG file by themselves. The services' children see no such names."""
    match question:
        case GetVariable(key=key):
            found = os.environ.get(VARIABLE_IN_ENVIRONMENT + key.upper())
        case GetConnection(conn_id=conn_id):
            found = os.environ.get(CONNECTION_IN_ENVIRONMENT + conn_id.upper())
        case _:
            found = None
    if found is None:
        raise EngineRefused(NOBODY)
    return found


async def async_ask(question: Ask) -> Any:
    """Ask the engine from a trigger. Nobody else waits meanwhile."""
    found = _of_trigger.get()
    if found is None:
        raise EngineRefused(NOBODY)
    port, _ = found
    try:
        return await port.ask(question)
    except BideError as error:
        raise EngineRefused(str(error)) from None


def _ask_from_thread(question: Ask, port: AsyncPort, loop: asyncio.AbstractEventLoop) -> Any:
    if _runs_here():
        raise EngineRefused(
            "This would stop all triggers of the event loop until the answer is there. In a trigger, await the answer: "
            "`await BaseHook.aget_connection(…)`, `await Variable.aget(…)`, or `await asyncio.to_thread(function)`."
        )
    try:
        return asyncio.run_coroutine_threadsafe(_answer(port, question), loop).result()
    except BideError as error:
        raise EngineRefused(str(error)) from None


async def _answer(port: AsyncPort, question: Ask) -> Any:
    return await port.ask(question)


def _runs_here() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
