"""The runners of a triggerer: general ones for installed code, one for each state of a DAG file, and some for one
trigger that must not run with others. They are started when they are needed."""

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from bide.store.children import Version
from bide.triggerer.held import Held
from bide.triggerer.runner import Desk, Manner, Runner

log = logging.getLogger(__name__)

MOST_ABANDONED = 20
"""So many triggers that would not go may be left behind in one process; then it is replaced."""
LOADS_WITHIN_SEC = 120.0
AGAIN_AFTER_SEC = 0.2
LONGEST_PAUSE_SEC = 30.0
NONE: Mapping[Runner, int] = MappingProxyType({})


class Crew:
    """Gives waits to runners, and takes them away again."""

    def __init__(self, manner: Manner, desk: Desk, runners: int, unused_sec: float) -> None:
        self._manner = manner
        self._desk = desk
        self._number = runners
        self._unused_sec = unused_sec
        self._numbers = itertools.count(1)
        self._general: list[Runner] = []
        self._of_files: dict[tuple[str, str], Runner] = {}
        self._others: set[Runner] = set()
        self._failures = 0
        self._not_before = 0.0

    @property
    def all(self) -> list[Runner]:
        """Every runner whose process is there."""
        return [runner for runner in self._every() if not runner.is_over]

    def start(self) -> None:
        """Start the general runners, so that they are there when the first wait comes."""
        while len(self._general) < self._number and time.monotonic() >= self._not_before:
            self._general.append(Runner(self._manner, self._desk))

    def run(self, waits: Iterable[Held], version_of: Callable[[Held], Version | None]) -> None:
        """Let triggers run, wherever they may. OSError if there is no process for them."""
        shares: dict[Runner, list[Held]] = {}
        loads: dict[Runner, int] = {}
        for held in waits:
            runner = self.place(held, version_of(held), loads)
            loads[runner] = loads.get(runner, len(runner.held)) + 1
            shares.setdefault(runner, []).append(held)
        for runner, share in shares.items():
            runner.run(share)

    def close(self, runner: Runner) -> None:
        """Give a runner no more triggers; another one takes its place. It goes when those that it has are gone."""
        runner.is_closed = True
        self._leave(runner)

    def has_left(self, runner: Runner, *, failed: bool) -> None:
        """Forget a runner whose process has ended. If they fail all the time, the next one waits longer."""
        runner.is_closed = True
        self._leave(runner)
        self._others.discard(runner)
        if failed:
            self._failures = 0 if time.monotonic() - runner.began_at > LONGEST_PAUSE_SEC else self._failures + 1
            pause = min(LONGEST_PAUSE_SEC, AGAIN_AFTER_SEC * 2 ** min(self._failures, 10))
            self._not_before = time.monotonic() + (pause if self._failures > 1 else 0)

    def tidy(self) -> None:
        """End what nobody needs, and what takes too long to begin."""
        now = time.monotonic()
        self.start()
        for runner in self.all:
            if runner.abandoned > MOST_ABANDONED and not runner.is_closed:
                log.warning(
                    "Runner %d holds %d triggers that would not go; it is replaced.", runner.pid, runner.abandoned
                )
                self.close(runner)
            if not runner.is_ready and now - runner.began_at > LOADS_WITHIN_SEC:
                runner.kill()
        for key, runner in list(self._of_files.items()):
            if not runner.held and now - runner.used_at > self._unused_sec:
                self._others.add(self._of_files.pop(key))
                runner.is_closed = True
        for runner in list(self._others):
            if not runner.held:
                runner.end()

    async def end(self) -> None:
        """End all of them."""
        every = self._every()
        for runner in every:
            runner.end()
        await asyncio.gather(*(runner.ended() for runner in every))
        self._general, self._of_files, self._others = [], {}, set()

    def kill(self) -> None:
        """End all of them at once."""
        for runner in self._every():
            runner.kill()

    def place(self, held: Held, version: Version | None, loads: Mapping[Runner, int] = NONE) -> Runner:
        """Find a runner for a trigger, which gets a number there."""
        held.number = next(self._numbers)
        if held.strikes:
            runner = Runner(self._manner, self._desk, version, is_alone=True)
            runner.is_closed = True
            self._others.add(runner)
            return runner
        if version is not None:
            return self._of_file(version)
        self.start()
        if not self._general:
            raise OSError("its runners end as soon as they begin; trying again soon")
        return min(self._general, key=lambda runner: loads.get(runner, len(runner.held)))

    def _every(self) -> set[Runner]:
        return {*self._general, *self._of_files.values(), *self._others}

    def _of_file(self, version: Version) -> Runner:
        runner = self._of_files.get(version.state_of_file)
        if runner is None or runner.is_closed or runner.is_over:
            runner = self._of_files[version.state_of_file] = Runner(self._manner, self._desk, version)
        return runner

    def _leave(self, runner: Runner) -> None:
        if runner in self._general:
            self._general.remove(runner)
        for key, each in list(self._of_files.items()):
            if each is runner:
                del self._of_files[key]
        self._others.add(runner)
