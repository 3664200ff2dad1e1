"""Seeing who holds up an event loop, while it is being held up.

A runner shares a page of memory in which stands whose step it is, since when, and when its event loop last came round.
So nothing has to be asked of a process that cannot answer: the page names the trigger, and a signal makes the runner
write where it is, whatever it is doing. Then all others that it has run elsewhere.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any

from bide import kernel
from bide.triggerer.held import Held
from bide.triggerer.holdings import Holdings
from bide.triggerer.runner import Runner

log = logging.getLogger(__name__)

LOOK_EVERY_SEC = 0.1
SILENT_SEC = 1.5
BEGINS_WITHIN_SEC = 30.0
"""A runner that has begun is given so long until its event loop comes round for the first time."""
RUNNABLE = "R"
LEAST_SHARE = 0.4
"""Of a processor: who would like to compute and gets less than this is held up himself."""
OURS = "bide/children/"


class Watch:
    """Looks at the runners ten times a second."""

    def __init__(self, holdings: Holdings, hold_limit_sec: float, stuck_sec: float) -> None:
        self._holdings = holdings
        self._hold_limit_sec = hold_limit_sec
        self._stuck_sec = stuck_sec
        self._looked_at = time.monotonic()
        self._seen: dict[Runner, int] = {}
        self._began: dict[Runner, tuple[int, float, float]] = {}
        self._naming: set[asyncio.Task[None]] = set()

    def beats(self) -> bool:
        """Whether any event loop comes round: whoever runs triggers in none has no claim to their waits."""
        runners = self._holdings.crew.all
        if not runners:
            return not self._holdings.waits
        return any(_silent_sec(runner) < SILENT_SEC for runner in runners)

    async def look(self) -> None:
        """Look once."""
        before, self._looked_at = self._looked_at, time.monotonic()
        if self._looked_at - before > LOOK_EVERY_SEC + self._hold_limit_sec:
            # It was this process that was held up, and perhaps all of the machine.
            return
        runners = self._holdings.crew.all
        self._seen = {runner: number for runner, number in self._seen.items() if runner in runners}
        self._began = {runner: began for runner, began in self._began.items() if runner in runners}
        for runner in runners:
            if runner.is_ready:
                self._look_at(runner)

    def _look_at(self, runner: Runner) -> None:
        number, held_sec = runner.step()
        if not number:
            self._seen.pop(runner, None)
            if _silent_sec(runner) > SILENT_SEC and (runner.held or not runner.is_closed):
                self._begin(self._silent(runner))
        elif held_sec > self._stuck_sec:
            log.error("Runner %d is killed: one step in it has taken %.1f s.", runner.pid, held_sec)
            runner.kill()
        elif held_sec > self._hold_limit_sec and self._seen.get(runner) != number:
            if self._is_to_blame(runner, number):
                self._seen[runner] = number
                self._begin(self._name(runner, number, held_sec))
        elif held_sec > LOOK_EVERY_SEC and self._seen.get(runner) != number:
            self._note(runner, number)

    def _note(self, runner: Runner, number: int) -> None:
        """Remember what a step that takes long has used so far."""
        known, thread = self._began.get(runner), kernel.main_thread(runner.pid)
        if thread is not None and (known is None or known[0] != number):
            self._began[runner] = (number, time.monotonic(), thread[1])

    def _is_to_blame(self, runner: Runner, number: int) -> bool:
        """Tell whether a step takes so long by itself: on a busy machine it may only have had no turn."""
        began, thread = self._began.get(runner), kernel.main_thread(runner.pid)
        if began is None or began[0] != number or thread is None:
            self._note(runner, number)
            return thread is None or thread[0] != RUNNABLE
        state, cpu_sec = thread
        return state != RUNNABLE or cpu_sec - began[2] > LEAST_SHARE * (time.monotonic() - began[1])

    def _begin(self, act: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(act)
        self._naming.add(task)
        task.add_done_callback(self._naming.discard)

    async def _name(self, runner: Runner, number: int, held_sec: float) -> None:
        """Say who holds the event loop, where, and let the others run elsewhere."""
        held = runner.held.get(number)
        stack = of_author(await runner.stack())
        if runner.is_over:
            return
        moved = self._holdings.move_away(runner, held)
        who = "A trigger that is leaving" if held is None else _named(held)
        log.warning(
            "%s has held its event loop for %.1f s; %d others run elsewhere now. It is at:\n%s",
            who,
            held_sec,
            moved,
            stack,
        )
        if held is not None and self._holdings.strike(
            held, f"it held its event loop for {held_sec:.1f} s at:\n{stack}"
        ):
            runner.kill()

    async def _silent(self, runner: Runner) -> None:
        """Its event loop does not come round, and no trigger is in its step: a callback, or the process is frozen."""
        stack = of_author(await runner.stack())
        if runner.is_over:
            return
        # Whose class is being imported all the while is left to end with it.
        moved = self._holdings.move_away(runner, runner.held.get(runner.in_hand))
        log.error(
            "The event loop of runner %d does not come round; %d triggers run elsewhere now. It is at:\n%s",
            *(runner.pid, moved, stack),
        )
        runner.kill()


def _silent_sec(runner: Runner) -> float:
    """For how long nothing has happened there: neither a round of the loop nor a step."""
    silent_sec = runner.silent_sec()
    if silent_sec is None:
        age_sec = time.monotonic() - runner.began_at
        return 0.0 if age_sec < BEGINS_WITHIN_SEC else age_sec
    return silent_sec


def _named(held: Held) -> str:
    task = "" if held.task is None else f" of task {held.task.dag_id}.{held.task.task_id} in run {held.task.run_id}"
    return f"Trigger {held.id} ({held.classpath}){task}"


def of_author(stack: str) -> str:
    """Leave out of a stack what is not the author's: the runner's own frames, below which his code was called."""
    kept = []
    for line in stack.splitlines():
        if OURS in line:
            break
        kept.append(line)
    return "\n".join(kept) or "(it did not say where)"
