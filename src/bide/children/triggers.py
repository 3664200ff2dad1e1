"""The triggers of a runner: started, stopped, killed and looked after, as the triggerer says."""

import asyncio
import contextlib
import gc
import logging
import os
import socket
import sys
from contextvars import Context
from time import monotonic, monotonic_ns
from typing import Any

from bide.authoring.port import answer_from_now_on
from bide.channel import Channel
from bide.children.classes import Classes
from bide.children.driving import CodeUnavailable
from bide.children.making import crashed, said_of
from bide.children.port import ReadingPort
from bide.children.sending import send_news
from bide.children.steps import OWNER, Measured, Page
from bide.children.trigger_log import TriggerLog
from bide.children.waiting import Drive, Phase, Running
from bide.exceptions import EngineRefused
from bide.model.messages import Loaded, LoadFile, NotLoaded
from bide.model.questions import Ask
from bide.model.trigger_messages import (
    BEAT_EVERY_SEC,
    OF_FILE,
    Answered,
    Asked,
    CallOnKill,
    Left,
    Logged,
    News,
    NotThere,
    OnKillCalled,
    RunTrigger,
    RunTriggers,
    StopTriggers,
    ToRunner,
    Used,
    Word,
)

log = logging.getLogger("bide.runner")

CLEANUP_WITHIN_SEC = 5.0
"""A trigger that was told to go, or has yielded its event, has so long to clean up; then nobody waits for it."""
LEAVES_WITHIN_SEC = 0.7
USED_EVERY_BEATS = 8
MOST_USED = 50
TIDY_EVERY_BEATS = 240
NAME = "trigger"
"""Of every task: a name for each takes memory."""
FEW = 5_000
"""With so few triggers a full round of the garbage collector is over in no time."""


class Triggers:
    """The triggers of this process."""

    def __init__(self, sock: socket.socket, code: Any) -> None:
        self._loop = asyncio.get_running_loop()
        self._code = code
        self._classes = Classes()
        self._here: dict[int, Running] = {}
        self._coming: dict[int, RunTrigger] = {}
        self._closing: dict[int, float] = {}
        self._questions: dict[int, asyncio.Future[Any]] = {}
        self._asked = 0
        self._news: list[News] = []
        self._beats = 0
        self._folder = os.getcwd()
        self.log = TriggerLog(self._wrote)
        self.left = asyncio.Event()
        self._channel = Channel(sock, ToRunner, self._heard, self._cut_off)
        self._loop.set_task_factory(self._measured)
        # Every trigger's generator is closed by its drive, so nobody has to remember them all.
        sys.set_asyncgen_hooks(firstiter=None)
        self._loop.set_exception_handler(self._complain)
        self._beat()

    # What triggers report. --------------------------------------------------------------------------------------

    def tell(self, news: News) -> None:
        """Say it together with what else comes up in this round of the loop."""
        if not self._news:
            self._loop.call_soon(self._flush)
        self._news.append(news)
        if news.number not in self._closing and not isinstance(news, Logged | Used):
            self._closing[news.number] = monotonic() + CLEANUP_WITHIN_SEC

    def over(self, running: Running) -> None:
        """It is gone."""
        running.task = None
        # One that was made to be killed may have taken its place.
        if self._here.get(running.number) is running:
            del self._here[running.number]
            self._news_of_end(Left(running.number))

    def outdated(self, classpath: str) -> None:
        """Read its module anew when it is asked for again."""
        self._classes.outdate(classpath)

    def ask(self, running: Running, question: Ask) -> "asyncio.Future[Any]":
        """Ask the triggerer on behalf of a trigger."""
        self._asked += 1
        answer = self._questions[self._asked] = self._loop.create_future()
        self._channel.send(Asked(self._asked, running.number, question))
        return answer

    def ask_at_once(self, question: Ask) -> Any:
        """Ask on behalf of the DAG file that is being imported, and wait: nothing runs yet that this could hold up."""
        self._asked += 1
        answer = self._questions[self._asked] = self._loop.create_future()
        self._channel.send(Asked(self._asked, OF_FILE, question))
        while not answer.done():
            if not self._channel.is_open:
                raise EngineRefused("The triggerer is gone, so nobody answers.")
            self._channel.wait()
        return answer.result()

    # What the triggerer says. -----------------------------------------------------------------------------------

    def _heard(self, message: Any) -> None:
        match message:
            case RunTriggers(triggers=triggers):
                for order in triggers:
                    self._run(order)
            case StopTriggers(numbers=numbers):
                for number in numbers:
                    self._stop(number)
            case CallOnKill():
                self._kill(message)
            case Answered(question=question, answer=answer):
                waiting = self._questions.pop(question, None)
                if waiting is not None and not waiting.done():
                    if answer.refused is None:
                        waiting.set_result(answer.value)
                    else:
                        waiting.set_exception(EngineRefused(answer.refused))
            case LoadFile():
                # Not from within the hearing of this message: the file may ask, and hear answers.
                self._loop.call_soon(self._load, message)

    def _load(self, order: LoadFile) -> None:
        """Import the DAG file whose triggers run here. Nothing runs yet that this could hold up."""
        try:
            with self._code.answering(ReadingPort(self.ask_at_once)):
                dags = self._code.load(order.path, order.root, order.source)
        except BaseException as error:
            self._channel.send(NotLoaded(said_of(error), str(getattr(error, "traceback", ""))))
            return
        gc.freeze()
        self._channel.send(Loaded(tuple(dags)))

    def _run(self, order: RunTrigger) -> None:
        kind = self._classes.get(order.classpath)
        if kind is not None:
            self._start(Running(order.number, order.id, self), kind, order)
            return
        self._coming[order.number] = order
        self._loop.create_task(self._run_later(order))

    async def _run_later(self, order: RunTrigger) -> None:
        """Run a trigger when its class is there."""
        try:
            kind = await self._classes.find(order.classpath, order.number)
        except (CodeUnavailable, ImportError) as missing:
            self._refuse(order, NotThere(order.number, str(missing)))
        except BaseException as error:
            self._refuse(order, crashed(order.number, error))
        else:
            if self._coming.pop(order.number, None) is not None:
                self._start(Running(order.number, order.id, self), kind, order)

    def _refuse(self, order: RunTrigger, news: News) -> None:
        if self._coming.pop(order.number, None) is not None:
            self.tell(news)
            self._news_of_end(Left(order.number))

    def _start(self, running: Running, kind: type, order: RunTrigger) -> None:
        self._here[running.number] = running
        context = Context()
        context.run(self._own, running)
        running.task = asyncio.Task(Drive(running, kind, order), loop=self._loop, context=context, name=NAME)

    def _own(self, running: Running) -> None:
        OWNER.set(running)
        answer_from_now_on(running, self._loop)

    def _stop(self, number: int) -> None:
        if self._coming.pop(number, None) is not None:
            self._news_of_end(Left(number))
        elif (running := self._here.get(number)) is not None:
            self._closing.setdefault(number, monotonic() + CLEANUP_WITHIN_SEC)
            running.stop()

    def _kill(self, order: CallOnKill) -> None:
        number = order.trigger.number
        # While its class is still on its way there is nothing to be stopped, and nothing is to begin any more.
        self._coming.pop(number, None)
        running = self._here.get(number)
        self._closing[number] = monotonic() + order.within_sec + CLEANUP_WITHIN_SEC
        self._loop.call_later(order.within_sec, self._on_kill_is_late, number)
        if running is not None and running.phase <= Phase.WAITING:
            running.kill(order.reason)
            return
        self._loop.create_task(self._make_and_kill(order))

    async def _make_and_kill(self, order: CallOnKill) -> None:
        number, classpath = order.trigger.number, order.trigger.classpath
        try:
            kind = await self._classes.find(classpath, number)
        except BaseException as error:
            self.tell(OnKillCalled(number, said_of(error)))
            self._news_of_end(Left(number))
            return
        running = Running(number, order.trigger.id, self)
        running.kill_reason = order.reason
        self._start(running, kind, order.trigger)

    def _on_kill_is_late(self, number: int) -> None:
        running = self._here.get(number)
        if running is not None and running.phase is Phase.KILLING and running.task is not None:
            running.task.cancel()

    # ------------------------------------------------------------------------------------------------------------

    def _news_of_end(self, news: News) -> None:
        self.tell(news)
        self._closing.pop(news.number, None)

    def _flush(self) -> None:
        news, self._news = self._news, []
        logged = [Logged(number, text) for number, text in self.log.taken()]
        send_news(self._channel.send, [*logged, *news])

    def _wrote(self) -> None:
        """A trigger has written something, perhaps in a thread. It is fetched with the next beat."""

    def _beat(self) -> None:
        """Come round: say so, and look after what nobody else looks after."""
        Page.words[Word.BEAT] = monotonic_ns()
        self._loop.call_later(BEAT_EVERY_SEC, self._beat)
        self._beats += 1
        self._abandon_the_late()
        self._news.extend(Logged(number, text) for number, text in self.log.round())
        if self._beats % USED_EVERY_BEATS == 0:
            self._tell_used()
        if self._beats % TIDY_EVERY_BEATS == 0 and len(self._here) < FEW:
            gc.collect()
        self._flush()
        with contextlib.suppress(OSError):
            if os.getcwd() != self._folder:
                log.warning("A trigger has changed the working directory of all; it is changed back.")
                os.chdir(self._folder)

    def _abandon_the_late(self) -> None:
        now = monotonic()
        for number in [number for number, deadline in self._closing.items() if deadline < now]:
            del self._closing[number]
            running = self._here.pop(number, None)
            if running is not None and running.task is not None:
                running.task.cancel()
                self._news.append(Left(number, abandoned=True))

    def _tell_used(self) -> None:
        noted, Page.noted = Page.noted, set()
        busiest = sorted(noted, key=lambda account: account.busy_ns, reverse=True)[:MOST_USED]
        self._news.extend(Used(one.number, one.steps, one.busy_ns, one.longest_ns) for one in busiest)

    def _measured(self, loop: asyncio.AbstractEventLoop, inner: Any, **given: Any) -> "asyncio.Task[Any]":
        """Make a task; what a trigger begins is its own also in what it uses."""
        context = given.get("context")
        owner = OWNER.get() if context is None else context.get(OWNER)
        return asyncio.Task(inner if owner is None else Measured(inner, owner), loop=loop, **given)

    def _complain(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Something was raised where nobody waits for it: in a callback, or in a task that was dropped."""
        error = context.get("exception")
        log.error("%s", context.get("message"), exc_info=error if isinstance(error, Exception) else None)

    def _cut_off(self, why: str) -> None:
        """The triggerer is gone or wants no more: clean up and leave."""
        for number in list(self._here):
            self._stop(number)
        self._loop.create_task(self._leave())

    async def _leave(self) -> None:
        tasks = [running.task for running in self._here.values() if running.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=LEAVES_WITHIN_SEC)
        self.left.set()
