"""Measuring each step that a trigger takes on the event loop, and saying meanwhile whose step it is.

A coroutine runs in steps: from one `await` to the next it has the event loop for itself. `Measured` stands between the
loop and a coroutine. It costs about a microsecond for each step, and an event loop that is held tells by whom at any
moment, in a page of memory that the triggerer reads.
"""

import os
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from time import monotonic_ns
from typing import Any, ClassVar

from bide.model.trigger_messages import WORDS_SIZE, Word

STEP, SINCE = int(Word.STEP), int(Word.SINCE)
NOTABLE_NS = 1_000_000
NOW_AND_THEN = 255
"""Who takes a long step, or so many short ones, is among those of whom is told what they use."""


class Account:
    """What one trigger has used, in nanoseconds."""

    __slots__ = ("busy_ns", "longest_ns", "number", "steps")

    def __init__(self, number: int) -> None:
        self.number = number
        self.steps = self.busy_ns = self.longest_ns = 0


OWNER: ContextVar[Account | None] = ContextVar("owner", default=None)
"""On whose behalf code runs: set for everything that a trigger begins, also in tasks and threads."""


class Page:
    """The page of memory that the triggerer reads, whose steps are worth telling, and in which process this is."""

    words: ClassVar[memoryview] = memoryview(bytearray(WORDS_SIZE)).cast("q")
    noted: ClassVar[set[Account]] = set()
    # Whether this process is one that a trigger's code has forked: it must not go on with anybody's work.
    is_copy: ClassVar[bool] = False


def after_fork() -> None:
    """Remember in a forked process that it is one."""
    Page.is_copy = True


class Measured(Coroutine[Any, Any, Any]):
    """A coroutine that a trigger has begun, each step of which counts as the trigger's own."""

    __slots__ = ("_account", "_inner", "is_in_step")

    def __init__(self, inner: Any, account: Account) -> None:
        self._inner = inner
        self._account = account
        self.is_in_step = False

    def send(self, value: Any) -> Any:
        """Take a step."""
        return self._step(self._inner.send, value)

    def throw(self, *error: Any) -> Any:
        """Take a step in which an exception is raised."""
        return self._step(self._inner.throw, *error)

    def close(self) -> None:
        """Give it up."""
        self._inner.close()

    def __await__(self) -> Any:
        return self

    def _step(self, go: Callable[..., Any], *arguments: Any) -> Any:
        words, account = Page.words, self._account
        words[SINCE] = began = monotonic_ns()
        words[STEP] = account.number
        self.is_in_step = True
        try:
            return self._go(go, *arguments)
        except (SystemExit, KeyboardInterrupt) as error:
            # Out of a task they would end the event loop, and with it all others.
            raise RuntimeError(f"A trigger may not end its process ({type(error).__name__}).") from error
        finally:
            if Page.is_copy:
                os._exit(0)
            took = monotonic_ns() - began
            words[STEP] = 0
            self.is_in_step = False
            account.steps += 1
            account.busy_ns += took
            if took > account.longest_ns:
                account.longest_ns = took
            if took > NOTABLE_NS or not account.steps & NOW_AND_THEN:
                Page.noted.add(account)

    def _go(self, go: Callable[..., Any], *arguments: Any) -> Any:
        return go(*arguments)

    # What libraries look at to know whether a task has begun.

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def cr_running(self) -> bool:
        """Whether it is in a step."""
        return self.is_in_step

    @property
    def cr_suspended(self) -> bool:
        """Whether it waits between two steps."""
        return not self.is_in_step
