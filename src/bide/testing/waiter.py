"""A task that waits, as its trigger sees the engine: who answers its questions, and where what it writes lands."""

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from bide.authoring.trigger import LOG
from bide.children.log import LogLines
from bide.exceptions import EngineRefused
from bide.hosting.answers import Answers
from bide.hosting.logs import LegLog, LogWriter
from bide.model.messages import Answer
from bide.model.questions import Ask
from bide.model.timetable import Interval
from bide.process.masking import Masker
from bide.store.rows import Leg
from bide.store.scratch import Waiting
from bide.testing.jumping import JumpingLoop
from bide.testing.output import Show, named

LOG_LIMIT_KB = 10_240


class Talk:
    """What all waiters of an engine share: answers, the store of logs, and who looks on."""

    def __init__(
        self,
        who: str,
        answers: Answers,
        logs: LogWriter,
        show: Show | None,
        at: Callable[[datetime, Coroutine[Any, Any, Answer]], "Future[Answer]"],
    ) -> None:
        """`at` does something in the database when its clock says this."""
        self.who, self.answers, self.show, self.at = who, answers, show, at
        self._logs = logs
        self._kept: list[LegLog] = []

    def log_of(self, waiting: Waiting, masker: Masker) -> LegLog:
        """Begin a log."""
        log = LegLog(waiting.task_instance_id, waiting.try_number, waiting.leg, LOG_LIMIT_KB, masker)
        self._kept.append(log)
        return log

    async def store_logs(self) -> None:
        """Store what has been written."""
        await self._logs.store(self._kept)


class Waiter:
    """One of them. It asks as the engine's answers know it, and answers what its trigger asks."""

    key: Leg | None = None

    def __init__(self, waiting: Waiting, talk: Talk, loop: JumpingLoop) -> None:
        self.who = f"task {waiting.dag_id}.{waiting.task_id}"
        self.masker = Masker()
        self.logical_date: datetime | None = None
        self.data_interval: Interval | None = None
        self._name = named(waiting.task_id, waiting.map_index)
        self._talk, self._loop = talk, loop
        self._log = talk.log_of(waiting, self.masker)

    async def ask(self, question: Ask) -> Any:
        """Answer what the trigger asks."""
        with self._loop.real_work():
            answering = self._talk.at(self._loop.now, self._talk.answers.answer(self, question))
            answer = await asyncio.wrap_future(answering)
        if answer.refused is not None:
            raise EngineRefused(answer.refused)
        return answer.value

    def write(self, line: str) -> None:
        """Take in a line of its log."""
        self._log.note(line)
        if self._talk.show is None:
            print(line, file=sys.stderr)
        else:
            self._talk.show(self._name, self.masker(line))


_heard: ContextVar[Waiter | None] = ContextVar("heard", default=None)


class _ToWaiter(logging.Handler):
    """Writes to the log of whoever's trigger is running."""

    def emit(self, record: logging.LogRecord) -> None:
        waiter = _heard.get()
        if waiter is not None:
            waiter.write(self.format(record))


_handler = _ToWaiter()
_handler.setFormatter(LogLines())


@contextmanager
def heard(waiter: Waiter) -> Iterator[None]:
    """Let what is logged meanwhile, and by the asyncio tasks that are begun meanwhile, land in its log."""
    triggers = logging.getLogger(LOG)
    if _handler not in triggers.handlers:
        triggers.addHandler(_handler)
        triggers.setLevel(logging.INFO)
    token = _heard.set(waiter)
    try:
        yield
    finally:
        _heard.reset(token)
