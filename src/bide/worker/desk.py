"""The legs at work, each from its start to the outbox: children report here, and are stopped from here."""

import asyncio
import time
from collections.abc import Callable, Coroutine

from bide.hosting.answers import Answers
from bide.hosting.exits import OutOfMemory, exit_of, sentence
from bide.hosting.file_reader import FileReader
from bide.model.framing import FrameError
from bide.model.messages import Answer, Ended, Gone
from bide.model.outcome import Failed, Outcome
from bide.model.questions import Ask, ReadByFile
from bide.store.records import NewRecord
from bide.store.rows import Leg as LegKey
from bide.worker.call import Call, Calls
from bide.worker.child import Child
from bide.worker.hand import Find, Hand
from bide.worker.leg import Leg, Work
from bide.worker.outbox import Outbox
from bide.worker.stable import KILLED_WITHIN_SEC
from bide.worker.warm import WarmProcess


class Desk:
    """Knows every leg that was started here and of which not everything has been said."""

    def __init__(
        self,
        outbox: Outbox,
        answers: Answers,
        calls: Calls,
        slots: int,
        grace_sec: float,
        memory_mb: int,
        one_left: Callable[[], None],
        log_full: Callable[[], None],
    ) -> None:
        """`one_left` is called when a leg is over, `log_full` when somebody waits to write on."""
        self.legs: dict[LegKey, Leg] = {}
        self.hand = Hand(slots)
        self._busy = 0
        self._outbox = outbox
        self._answers = answers
        self.calls = calls
        self._slots = slots
        self._grace_sec = grace_sec
        self._memory_mb = memory_mb
        self._one_left = one_left
        self.log_full = log_full
        self._memory = OutOfMemory()
        self._answering: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()

    @property
    def room(self) -> int:
        """How many legs it can take now."""
        if self.hand.has_enough:
            return 0
        return self._slots + self.hand.reach - len(self.legs)

    def run(self, leg: Leg, find: Find) -> None:
        """Let a leg run in a child of the process that is found for it, as soon as there is a slot."""
        self.legs[leg.key] = leg
        self.hand.put(leg, find)
        self._fill()

    def given_back(self, *, all_of_them: bool) -> list[Leg]:
        """Return the legs that have waited too long for a slot, or all that wait; nothing was begun for them."""
        legs = self.hand.emptied() if all_of_them else self.hand.emptied_if_late()
        for leg in legs:
            del self.legs[leg.key]
        return legs

    def refuse(self, leg: Leg, error: str) -> None:
        """A leg cannot run here."""
        self.legs[leg.key] = leg
        self.cannot_run(leg, error, "")

    def stop(self, leg: Leg, why: str) -> None:
        """A leg was taken away: its task's `on_kill` runs, and after the grace everything of it is killed."""
        if leg.stopping is not None:
            return
        leg.stopping = why
        leg.log.note(f"Stopped: {why}.")
        if leg.child is None:
            self._never_ran(leg)
            return
        leg.child.warm.stop(leg.child)
        leg.timers.append(self._loop.call_later(self._grace_sec, self.kill, leg.child))

    def kill(self, child: Child) -> None:
        """End a child at once, with all that it has begun."""
        child.warm.kill(child)
        self._loop.call_later(KILLED_WITHIN_SEC, self._give_up, child)

    def forget(self) -> None:
        """Say nothing about any of them any more."""
        for leg in self.legs.values():
            leg.forget_timers()
        self.legs.clear()
        self.calls.forget()
        self.hand.emptied()
        self._busy = 0
        for task in self._answering:
            task.cancel()

    # What children and warm processes report. -------------------------------------------------------------------

    def ended(self, child: Child, ended: Ended) -> None:
        """Its leg is over, or the call that it has made."""
        leg = child.leg
        if leg is None:
            self.misbehaves(child, "an outcome without a leg")
            return
        child.read_rest()
        if isinstance(leg, Call):
            child.leg = None
            self._rest_or_leave(child, ended)
            self.calls.ended(leg, ended.outcome)
            return
        assert isinstance(leg, Leg)
        if leg.stopping is not None:
            # It came to its end after all. Nobody hears how; that it is gone will be said when it is.
            child.leaves()
            return
        child.leg = None
        self._rest_or_leave(child, ended)
        self._finish(leg, ended.outcome, leg.record(child.pid, None, ended.peak_memory_kb, ended.cpu_sec))

    def asked(self, child: Child, question: Ask) -> None:
        """Its leg wants to know something. It waits for the answer, so there is one question at a time."""
        if child.leg is None or child.is_asking:
            self.misbehaves(child, "a question before the last one was answered")
            return
        child.is_asking = True
        self._begin_answering(self._answer(child, child.leg, question))

    def reader_of(self, fileloc: str) -> FileReader:
        """Somebody is about to import a DAG file."""
        return FileReader(fileloc, self._answers)

    def asked_by_file(self, warm: WarmProcess, question: ReadByFile) -> None:
        """The file that it imports wants to know something."""
        self._begin_answering(self._answer_file(warm, question))

    def gone(self, child: Child, gone: Gone) -> None:
        """Its process has ended. If its leg was still going on, that is how it ended."""
        leg, child.leg = child.leg, None
        if leg is None:
            return
        came_to_its_end = child.leaving_since is not None
        exit = child.why_killed or (None if came_to_its_end else exit_of(gone, self._memory, self._memory_mb))
        if isinstance(leg, Call):
            self.calls.over(leg, sentence(exit or "", gone.peak_memory_kb))
            return
        assert isinstance(leg, Leg)
        record = leg.record(child.pid, exit, gone.peak_memory_kb or None, gone.cpu_sec)
        if leg.stopping is not None or exit is None:
            self._finish(leg, None, record)
            return
        said = sentence(exit, gone.peak_memory_kb)
        leg.log.note(said)
        self._finish(leg, Failed(said), record)

    def misbehaves(self, child: Child, why: str) -> None:
        """It said what no child says, so its socket is in the hands of somebody else."""
        child.why_killed = f"its process wrote into the socket to the worker ({why})"
        if child in child.warm.idle:
            child.warm.idle.remove(child)
        self.kill(child)

    def cannot_run(self, leg: Work, error: str, traceback: str) -> None:
        """There is no process for this leg, or this call."""
        leg.log.note(f"{traceback}\n{error}" if traceback else error)
        if isinstance(leg, Call):
            self.calls.over(leg, error)
            return
        assert isinstance(leg, Leg)
        exit = error.partition("\n")[0]
        self._finish(leg, Failed(error, traceback), leg.record(None, exit, None, None))

    # ------------------------------------------------------------------------------------------------------------

    @staticmethod
    def _rest_or_leave(child: Child, ended: Ended) -> None:
        if ended.again and child.legs_left > 0 and not child.is_asking:
            child.warm.rest(child)
        else:
            child.leaves()

    def _fill(self) -> None:
        """Give free slots to the legs that wait."""
        while self._busy < self._slots and (next_one := self.hand.next()):
            leg, find = next_one
            self._busy += 1
            leg.began_at = time.monotonic()
            left = leg.started.try_time_left
            if left is not None:
                # The child ends it by itself. One that does not is stuck.
                late_sec = max(0.0, left.total_seconds()) + self._grace_sec
                leg.timers.append(self._loop.call_later(late_sec, self._timed_out, leg))
            try:
                warm = find()
            except OSError as error:
                self.cannot_run(leg, f"No process can be started: {error}.", "")
                continue
            warm.run(leg)

    def _finish(self, leg: Leg, outcome: Outcome | None, record: NewRecord | None) -> None:
        leg.forget_timers()
        leg.child = leg.warm = None
        if self.legs.pop(leg.key, None) is None:
            return
        if leg.began_at is not None:
            self._busy -= 1
            self.hand.saw(time.monotonic() - leg.began_at)
            # Not from here: a leg that cannot run ends before it has begun.
            self._loop.call_soon(self._fill)
        self._outbox.put(leg, outcome, record)
        self._one_left()

    def _never_ran(self, leg: Leg) -> None:
        if leg.warm is None:
            self.hand.remove(leg)
        elif leg in leg.warm.waiting:
            leg.warm.waiting.remove(leg)
        self._finish(leg, None, None)

    def _timed_out(self, leg: Leg) -> None:
        why = "it took longer than its execution_timeout and did not end by itself"
        if leg.child is None:
            if leg.warm is not None and leg in leg.warm.waiting:
                leg.warm.waiting.remove(leg)
            self.cannot_run(leg, "Its execution_timeout passed while its DAG file was being imported.", "")
            return
        leg.child.why_killed = why
        self.kill(leg.child)

    def _give_up(self, child: Child) -> None:
        if child.number in child.warm.children:
            child.warm.kill_all()

    def _begin_answering(self, answering: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(answering)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer_file(self, warm: WarmProcess, question: ReadByFile) -> None:
        answer = await warm.reader.answer(question)
        try:
            warm.answer(answer)
        except FrameError as error:
            warm.answer(Answer(refused=f"The answer is too long: {error}"))

    async def _answer(self, child: Child, leg: Work, question: Ask) -> None:
        answer = await self._answers.answer(leg, question)
        child.is_asking = False
        if child.leg is not leg:
            return
        try:
            child.channel.send(answer)
        except FrameError as error:
            child.channel.send(Answer(refused=f"The answer is too long: {error}"))
