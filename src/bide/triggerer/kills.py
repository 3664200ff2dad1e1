"""Letting `on_kill` run for waits that somebody has stopped: of the trigger that is here, or of one made for it."""

import logging
from collections.abc import Callable, Sequence
from time import monotonic

from msgspec import Struct

from bide.errors import SealingError
from bide.model.trigger_messages import CallOnKill
from bide.sealing import Sealer, wait
from bide.store import holding
from bide.store.database import Database
from bide.store.holding import Claim, Kill
from bide.triggerer.held import Held
from bide.triggerer.runner import Runner

log = logging.getLogger(__name__)

MOST_AT_ONCE = 100


class Call(Struct, frozen=True):
    """An `on_kill` that runs."""

    kill: Kill
    held: Held
    runner: Runner


class Kills:
    """The calls of `on_kill` that this triggerer has taken up."""

    def __init__(
        self, db: Database, sealer: Sealer, place: Callable[[Held], Runner], answered: Callable[[], None]
    ) -> None:
        """`place` finds a runner for a trigger that is made to be killed; `answered` is called when one has run."""
        self._db = db
        self._sealer = sealer
        self._place = place
        self._answered = answered
        self._running: dict[int, Call] = {}
        self._unplaced: list[tuple[Kill, Held]] = []
        self._done: list[Claim] = []
        # What was taken up here, and until when there is anything to be done about it.
        self._known: dict[int, float] = {}

    async def take(self, who: str, triggerer_id: int, queues: Sequence[str]) -> list[Kill]:
        """Take up calls of `on_kill`, and again those that were taken up but are not known: that answer was lost."""
        now = monotonic()
        self._known = {id: until for id, until in self._known.items() if until > now}
        self._running = {number: call for number, call in self._running.items() if call.kill.trigger_id in self._known}
        known = list(self._known)
        return await holding.take_kill(self._db, who, triggerer_id, queues, MOST_AT_ONCE, known)

    def begin(self, kill: Kill, held: Held | None) -> None:
        """Let one run, of the trigger that is held here if it is."""
        claim = Claim(kill.trigger_id, kill.claim)
        self._known[kill.trigger_id] = monotonic() + kill.time_left.total_seconds()
        if held is None or held.runner is None:
            try:
                kwargs = self._sealer.open(kill.kwargs, wait(kill.trigger_id, kill.classpath))
            except SealingError as error:
                log.error("The on_kill of wait %d cannot run: %s", kill.trigger_id, error)
                return
            held = Held(claim, kill.classpath, kwargs, kill.dag_version_id, kill, has_on_kill=True)
        self._call(kill, held)

    def called(self, number: int) -> Held | None:
        """One has run, or cannot; return whose it was."""
        call = self._running.pop(number, None)
        if call is None:
            return None
        self._done.append(Claim(call.kill.trigger_id, call.kill.claim))
        self._answered()
        return call.held

    def lost(self, runner: Runner) -> None:
        """A runner has ended: what ran there begins again elsewhere, once."""
        for number, call in list(self._running.items()):
            if call.runner is runner:
                del self._running[number]
                call.held.runner = None
                call.held.strikes += 1
                if call.held.strikes <= 1:
                    self._call(call.kill, call.held)

    def place_again(self) -> None:
        """Try again to find runners for those that had none."""
        unplaced, self._unplaced = self._unplaced, []
        for kill, held in unplaced:
            if kill.trigger_id in self._known:
                self._call(kill, held)

    async def acknowledge(self, who: str) -> bool:
        """Say which have run."""
        done = list(self._done)
        if done:
            await holding.acknowledge(self._db, who, done)
            del self._done[: len(done)]
        return bool(done)

    def forget(self) -> None:
        """Others take them up."""
        self._running.clear()
        self._unplaced.clear()
        self._done.clear()
        self._known.clear()

    def _call(self, kill: Kill, held: Held) -> None:
        runner = held.runner
        if runner is None:
            try:
                runner = self._place(held)
            except OSError as error:
                log.error("The on_kill of wait %d has no process to run in: %s", kill.trigger_id, error)
                self._unplaced.append((kill, held))
                return
            held.runner = runner
            runner.held[held.number] = held
        self._running[held.number] = Call(kill, held, runner)
        runner.send(CallOnKill(trigger=held.order(), reason=kill.reason, within_sec=kill.time_left.total_seconds()))
