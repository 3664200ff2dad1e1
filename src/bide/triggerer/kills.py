"""Letting `on_kill` run for waits that somebody has stopped: of the trigger that is here, or of one made for it."""

import logging
from collections.abc import Callable, Sequence

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
        self._running: dict[int, tuple[Kill, Held]] = {}
        self._done: list[Claim] = []

    async def take(self, who: str, triggerer_id: int, queues: Sequence[str]) -> list[Kill]:
        """Take up calls of `on_kill`."""
        return await holding.take_kill(self._db, who, triggerer_id, queues, MOST_AT_ONCE)

    def begin(self, kill: Kill, held: Held | None) -> None:
        """Let one run, of the trigger that is held here if it is."""
        claim = Claim(kill.trigger_id, kill.claim)
        if held is None or held.runner is None:
            try:
                kwargs = self._sealer.open(kill.kwargs, wait(kill.trigger_id, kill.classpath))
            except SealingError as error:
                log.error("The on_kill of wait %d cannot run: %s", kill.trigger_id, error)
                return
            held = Held(claim, kill.classpath, kwargs, kill.dag_version_id, kill, has_on_kill=True)
        self._call(kill, held)

    def called(self, number: int) -> None:
        """One has run."""
        found = self._running.pop(number, None)
        if found is not None:
            self._done.append(Claim(found[0].trigger_id, found[0].claim))
            self._answered()

    def lost(self, runner: Runner) -> None:
        """A runner has ended: what ran there begins again elsewhere, once."""
        for number, (kill, held) in list(self._running.items()):
            if held.runner is runner:
                del self._running[number]
                held.runner = None
                held.strikes += 1
                if held.strikes <= 1:
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
        self._done.clear()

    def _call(self, kill: Kill, held: Held) -> None:
        if held.runner is None:
            try:
                runner = self._place(held)
            except OSError as error:
                log.error("The on_kill of wait %d cannot run: %s", kill.trigger_id, error)
                return
            held.runner = runner
            runner.held[held.number] = held
        self._running[held.number] = (kill, held)
        assert held.runner is not None
        held.runner.send(
            CallOnKill(trigger=held.order(), reason=kill.reason, within_sec=kill.time_left.total_seconds())
        )
