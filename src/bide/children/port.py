"""A leg's way to its worker: questions and their answers, one at a time, from whichever thread asks."""

import os
import threading
from collections.abc import Callable
from typing import Any

from bide.children.channel import Channel
from bide.exceptions import EngineRefused
from bide.model.messages import EXIT_CUT_OFF, Answer, Ended, RunCallback, RunLeg
from bide.model.questions import Ask, ReadByFile

ONLY_READS = (
    "While a DAG file is read it may ask for variables and connections, and for nothing else: do this in a task."
)


class SocketPort:
    """The child's socket. It belongs to this process: one that the task's code has forked may not use it."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._asking: int | None = None
        self._owed = 0
        # A copy would keep the socket open after this process has ended.
        os.register_at_fork(after_in_child=channel.close)

    def ask(self, question: Ask) -> Any:
        """Ask the engine, wait, and return the answer; a refusal is raised as EngineRefused."""
        if os.getpid() != self._pid:
            raise EngineRefused(
                "Only the process of a task can ask the engine, not one that it has forked. Ask first, and hand the "
                "answer over."
            )
        if self._asking == threading.get_ident():
            raise EngineRefused("A signal handler cannot ask the engine while the code it interrupts is asking.")
        with self._lock:
            self._asking = threading.get_ident()
            try:
                answer = self._answer_to(question)
            finally:
                self._asking = None
        if answer.refused is not None:
            raise EngineRefused(answer.refused)
        return answer.value

    def next_leg(self) -> RunLeg | RunCallback | None:
        """Wait for the next leg, or callback; None when there will be none."""
        while (message := self._channel.receive()) is not None:
            # An answer that nobody waits for any more came to a leg that ended before.
            if isinstance(message, RunLeg | RunCallback):
                self._owed = 0
                return message
        return None

    def say_ended(self, ended: Ended) -> None:
        """Tell how the leg ended."""
        self._channel.send(ended)

    def is_mine(self) -> bool:
        """Say whether this is the process that the port was made in."""
        return os.getpid() == self._pid

    def _answer_to(self, question: Ask) -> Answer:
        # Whoever was interrupted while waiting has left an answer behind.
        while self._owed:
            self._receive()
            self._owed -= 1
        self._channel.send(question)
        self._owed += 1
        answer = self._receive()
        self._owed -= 1
        return answer

    def _receive(self) -> Answer:
        message = self._channel.receive()
        if not isinstance(message, Answer):
            # The worker is gone, and with it everything that this leg could still bring about.
            os._exit(EXIT_CUT_OFF)
        return message


class FilePort(SocketPort):
    """The way to the service for a DAG file that is being imported."""

    def ask(self, question: Ask) -> Any:
        """Read a variable or a connection; everything else is there only for tasks."""
        if not isinstance(question, ReadByFile):
            raise EngineRefused(ONLY_READS)
        return super().ask(question)


class ReadingPort:
    """The way to the triggerer for a DAG file that a runner imports: its main thread asks, and all wait."""

    def __init__(self, ask: Callable[[Ask], Any]) -> None:
        self._ask = ask

    def ask(self, question: Ask) -> Any:
        """Read a variable or a connection."""
        if not isinstance(question, ReadByFile) or threading.current_thread() is not threading.main_thread():
            raise EngineRefused(ONLY_READS)
        return self._ask(question)
