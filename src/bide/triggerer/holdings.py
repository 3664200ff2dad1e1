"""The waits that are held here: given to runners, moved between them, and ended by what the runners tell."""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence

from bide.errors import SealingError
from bide.hosting.answers import Answers
from bide.hosting.file_reader import FileReader
from bide.hosting.wait_overs import Over
from bide.model.framing import FrameError
from bide.model.messages import Answer
from bide.model.questions import ReadByFile
from bide.model.trigger_messages import Answered, Asked, Left, Logged, NotThere, OnKillCalled, Told, Used, WaitIsOver
from bide.model.wait_over import Crashes, WaitOver
from bide.sealing import Sealer, wait
from bide.store.children import Version, version_of
from bide.store.database import Database
from bide.store.holding import Claim, Claimed, Kill
from bide.triggerer.crew import Crew
from bide.triggerer.held import Held
from bide.triggerer.kills import Kills
from bide.triggerer.ledger import Ledger
from bide.triggerer.logs import TriggerLogs
from bide.triggerer.outbox import Outbox
from bide.triggerer.runner import Desk, Runner
from bide.triggerer.usage import Usage

log = logging.getLogger(__name__)

STRIKES = 3
MOST_VERSIONS = 1000
CODE_UNAVAILABLE = "code unavailable"
CANNOT_DECRYPT = "cannot decrypt"


class Holdings:
    """Knows every wait that was claimed here and of which not everything has been said."""

    def __init__(
        self,
        db: Database,
        sealer: Sealer,
        answers: Answers,
        outbox: Outbox,
        logs: TriggerLogs,
        usage: Usage,
        crew: Callable[[Desk], Crew],
        kill_called: Callable[[], None],
    ) -> None:
        """`kill_called` is called when an `on_kill` has run."""
        self.waits: dict[int, Held] = {}
        self.ledger = Ledger()
        self.crew = crew(self)
        self.kills = Kills(db, sealer, self._place, kill_called)
        self._db = db
        self._sealer = sealer
        self._answers = answers
        self._outbox = outbox
        self._logs = logs
        self._usage = usage
        self._versions: dict[int, Version | None] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._unplaced: list[Held] = []

    async def take(self, claimed: Sequence[Claimed]) -> None:
        """Run what was claimed."""
        claims = [Claim(one.id, one.claim) for one in claimed]
        self.ledger.add(*claims)
        try:
            await self._learn({one.dag_version_id for one in claimed if one.dag_version_id is not None})
        except BaseException:
            # The comparison with the database gives back what nobody here knows of.
            self.ledger.remove(*claims)
            raise
        # What was taken away meanwhile does not begin.
        here = [one for one, claim in zip(claimed, claims, strict=True) if claim in self.ledger]
        opened = [held for one in here if (held := self._opened(one)) is not None]
        for held in opened:
            self.waits[held.id] = held
        self._run(opened)

    async def kill(self, kills: Sequence[Kill]) -> None:
        """Let `on_kill` run for waits that were stopped."""
        await self._learn({kill.dag_version_id for kill in kills if kill.dag_version_id is not None})
        for kill in kills:
            held = self.waits.pop(kill.trigger_id, None)
            if held is not None:
                self.ledger.remove(held.claim)
            self.kills.begin(kill, held)

    def let_go(self, claims: Iterable[Claim]) -> None:
        """These are no longer here: their triggers clean up."""
        gone = []
        for claim in claims:
            self.ledger.remove(claim)
            held = self.waits.get(claim.id)
            if held is not None and held.claim == claim:
                gone.append(self.waits.pop(claim.id))
        self._leave_runners(gone)

    def move_away(self, runner: Runner, offender: Held | None) -> int:
        """Let all but one that a runner has run elsewhere; tell how many those were."""
        self.crew.close(runner)
        others = [held for held in runner.held.values() if held is not offender and self.waits.get(held.id) is held]
        self._leave_runners(others)
        self._run(others)
        return len(others)

    def strike(self, held: Held, evidence: str) -> bool:
        """Note that a trigger has done harm to those around it; true if that was once too often."""
        held.strikes += 1
        held.evidence.append(evidence)
        self._usage.struck(held)
        self._logs.note(held, f"Strike {held.strikes} of {STRIKES}: {evidence}")
        if held.strikes < STRIKES or self.waits.get(held.id) is not held:
            return False
        told = "\n".join(f"{number}. {each}" for number, each in enumerate(held.evidence, 1))
        self._over(held, Crashes(f"The trigger was stopped: it has harmed others {STRIKES} times.", told))
        self._leave_runners([held])
        return True

    def place_again(self) -> None:
        """Try again to find runners for those that had none."""
        unplaced, self._unplaced = self._unplaced, []
        self._run([held for held in unplaced if self.waits.get(held.id) is held])
        self.kills.place_again()

    async def close(self) -> None:
        """Let all of them clean up, without a word to anybody, and end the runners."""
        self.waits.clear()
        self.ledger.clear()
        self.kills.forget()
        self._unplaced.clear()
        for task in self._answering:
            task.cancel()
        await self.crew.end()

    # What runners report. ---------------------------------------------------------------------------------------

    def told(self, runner: Runner, told: Told) -> None:
        """Something has become of triggers. What a runner says of those that it has no longer means nobody."""
        for news in told.words:
            if isinstance(news, OnKillCalled):
                self._on_kill_called(news)
                continue
            held = runner.held.get(news.number)
            if held is None:
                continue
            if not runner.reader.masker.is_empty:
                # What the DAG file has read its triggers know, too.
                held.masker.include(runner.reader.masker)
            match news:
                case WaitIsOver(how=how):
                    if self.waits.get(held.id) is held:
                        self._over(held, how)
                case Logged(text=text):
                    self._logs.write(held, text)
                case Used():
                    self._usage.note(held, news)
                case NotThere(why=why):
                    self._park(held, f"{CODE_UNAVAILABLE}: {why}")
                case Left(abandoned=abandoned):
                    runner.abandoned += abandoned
                    runner.held.pop(news.number)
                    held.runner = None

    def asked(self, runner: Runner, asked: Asked) -> None:
        """A trigger wants to know something. Others ask meanwhile."""
        held = runner.held.get(asked.number)
        if held is None:
            runner.send(Answered(asked.question, Answer(refused="The wait of this trigger is over.")))
            return
        self._begin_answering(self._answer(runner, held, asked))

    def reader_of(self, fileloc: str) -> FileReader:
        """Somebody may be about to import a DAG file."""
        return FileReader(fileloc, self._answers)

    def asked_by_file(self, runner: Runner, asked: Asked) -> None:
        """The file that it imports wants to know something, and nothing else goes on there."""
        self._begin_answering(self._answer_file(runner, asked))

    def gone(self, runner: Runner, how: str, in_hand: int) -> None:
        """Its process has ended. What ran there runs elsewhere; who was in its step is likely to be why."""
        self.crew.has_left(runner, failed=not runner.is_closed)
        here = [held for held in runner.held.values() if self.waits.get(held.id) is held]
        offender = runner.held.get(in_hand)
        if offender is None and runner.is_alone and len(here) == 1:
            offender = here[0]
        self.kills.lost(runner)
        runner.held.clear()
        if here:
            log.error("Runner %d with %d triggers %s", runner.pid, len(here), how)
        if offender is not None and offender in here:
            log.error("It was trigger %d (%s) that was in its step or imported.", offender.id, offender.classpath)
            self.strike(offender, f"its process {how} while this trigger was in its step, or its class imported")
        for held in here:
            held.runner = None
            if not runner.is_ready:  # it would end so again at once
                self._park(held, f"{CODE_UNAVAILABLE}: the DAG file cannot be imported: its process {how}")
        self._run([held for held in here if self.waits.get(held.id) is held])

    def not_loaded(self, runner: Runner, error: str) -> None:
        """The DAG file cannot be imported: its waits are put aside."""
        for held in list(runner.held.values()):
            self._park(held, f"{CODE_UNAVAILABLE}: the DAG file cannot be imported: {error}")
        runner.held.clear()
        self.crew.close(runner)

    # ------------------------------------------------------------------------------------------------------------

    def _run(self, waits: Collection[Held]) -> None:
        if not waits:
            return
        try:
            self.crew.run(waits, self._version_for)
        except OSError as error:
            log.error("%d triggers have no process to run in: %s", len(waits), error)
            self._unplaced.extend(held for held in waits if held.runner is None)

    def _place(self, held: Held) -> Runner:
        return self.crew.place(held, self._version_for(held))

    def _leave_runners(self, waits: Iterable[Held]) -> None:
        by_runner: dict[Runner, list[Held]] = {}
        for held in waits:
            if held.runner is not None:
                by_runner.setdefault(held.runner, []).append(held)
        for runner, share in by_runner.items():
            runner.let_go(share)

    def _on_kill_called(self, news: OnKillCalled) -> None:
        """It was called, for a wait that is perhaps over here."""
        held = self.kills.called(news.number)
        if held is not None and news.error:
            log.warning("The on_kill of wait %d (%s) has failed.", held.id, held.classpath)
            self._logs.note(held, f"What was going on elsewhere may still go on, because on_kill failed: {news.error}")

    def _over(self, held: Held, how: WaitOver) -> None:
        """Its trigger has ended the wait."""
        if isinstance(how, Crashes):
            # What it says to people goes without its secrets.
            how = Crashes(held.masker(how.error), held.masker(how.traceback), how.retryable)
            self._logs.note(held, f"The trigger has failed:\n{how.traceback or how.error}")
        self._usage.forget(held)
        self.waits.pop(held.id, None)
        self._outbox.put(Over(held.claim, how))

    def _park(self, held: Held, why: str) -> None:
        if self.waits.pop(held.id, None) is None:
            return
        log.warning("Wait %d is put aside: %s", held.id, why)
        self._outbox.park(held.claim, why, again=held.was_parked)

    def _opened(self, one: Claimed) -> Held | None:
        claim = Claim(one.id, one.claim)
        try:
            kwargs = self._sealer.open(one.kwargs, wait(one.id, one.classpath))
        except SealingError as error:
            log.error("Wait %d of %s is put aside, nothing of it was run: %s", one.id, one.classpath, error)
            self._outbox.park(claim, f"{CANNOT_DECRYPT}: {error}", again=one.parked_why is not None)
            return None
        held = Held(claim, one.classpath, kwargs, one.dag_version_id, one, has_on_kill=one.on_kill)
        held.was_parked = one.parked_why is not None
        if one.dag_version_id is not None and self._versions.get(one.dag_version_id) is None:
            self._outbox.park(claim, f"{CODE_UNAVAILABLE}: the version of its DAG is gone", again=held.was_parked)
            return None
        return held

    def _version_for(self, held: Held) -> Version | None:
        return None if held.version_id is None else self._versions.get(held.version_id)

    async def _learn(self, wanted: Collection[int]) -> None:
        """Read the versions that are not known yet."""
        for number in set(wanted) - self._versions.keys():
            version = await version_of(self._db, number)
            if version is not None:
                while len(self._versions) >= MOST_VERSIONS:
                    del self._versions[next(iter(self._versions))]
                self._versions[number] = version

    def _begin_answering(self, answering: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(answering)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer_file(self, runner: Runner, asked: Asked) -> None:
        if isinstance(asked.asked, ReadByFile):
            self._send_answer(runner, asked, await runner.reader.answer(asked.asked))

    async def _answer(self, runner: Runner, held: Held, asked: Asked) -> None:
        self._send_answer(runner, asked, await self._answers.answer(held, asked.asked))

    @staticmethod
    def _send_answer(runner: Runner, asked: Asked, answer: Answer) -> None:
        try:
            runner.send(Answered(asked.question, answer))
        except FrameError as error:
            runner.send(Answered(asked.question, Answer(refused=f"The answer is too long: {error}")))
