"""What spoils things: it kills, freezes and tells services, kills tasks, restarts PostgreSQL, and cuts connections."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

import asyncpg

from tests.chaos.fleet import LEASE_SEC, Fleet
from tests.system.power import Power
from tests.system.site import Site

CUT = """
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name like 'bide%' and pid <> pg_backend_pid() and random() < $1
"""
PAUSE_SEC = (0.1, 0.8)
Act = Callable[[], Awaitable[object]]


class Monkey:
    """Does one thing after the other, by chance."""

    def __init__(self, here: Site, fleet: Fleet, switch: Power, seed: int) -> None:
        self.done: Counter[str] = Counter()
        self._here, self._fleet, self._switch = here, fleet, switch
        self._rng = random.Random(seed)
        self._thawing: set[asyncio.Task[None]] = set()
        self._acts: dict[str, tuple[int, Act]] = {
            "killed": (6, self._kill),
            "told to end": (2, self._tell),
            "frozen beyond the lease": (3, self._freeze),
            "tasks killed": (6, self._kill_task),
            "connections cut": (4, self._cut),
            "PostgreSQL ended in order": (1, self._end),
            "PostgreSQL killed": (1, self._crash),
            "PostgreSQL away beyond the lease": (1, self._outage),
        }

    async def go(self) -> None:
        """Spoil things for as long as this is not cancelled."""
        names, weights = list(self._acts), [weight for weight, _ in self._acts.values()]
        while True:
            (name,) = self._rng.choices(names, weights)
            await self._acts[name][1]()
            self.done[name] += 1
            await asyncio.sleep(self._rng.uniform(*PAUSE_SEC))

    async def leave(self) -> None:
        """Let everything go on."""
        for task in self._thawing:
            task.cancel()
        await asyncio.gather(*self._thawing, return_exceptions=True)
        self._fleet.thaw_all()

    async def _kill(self) -> None:
        self._fleet.kill(self._fleet.some(self._rng))

    async def _tell(self) -> None:
        self._fleet.tell(self._fleet.some(self._rng))

    async def _freeze(self) -> None:
        service = self._fleet.some(self._rng)
        self._fleet.freeze(service)

        async def thaw() -> None:
            await asyncio.sleep(LEASE_SEC * self._rng.uniform(1.2, 2))
            self._fleet.thaw(service)

        task = asyncio.create_task(thaw())
        self._thawing.add(task)
        task.add_done_callback(self._thawing.discard)

    async def _kill_task(self) -> None:
        """Kill a child, a warm process, or what parses files."""
        if pids := sorted(self._here.left_over()):
            with suppress(ProcessLookupError):
                os.kill(self._rng.choice(pids), signal.SIGKILL)

    async def _cut(self) -> None:
        admin = await asyncpg.connect(self._here.url)
        await admin.execute(f"select setseed({self._rng.random()})")
        await admin.fetch(CUT, self._rng.choice((0.2, 0.5, 1.0)))
        await admin.close()

    async def _end(self) -> None:
        await self._restart(signal.SIGINT, 0)

    async def _crash(self) -> None:
        await self._restart(signal.SIGQUIT, 0)

    async def _outage(self) -> None:
        await self._restart(signal.SIGQUIT, LEASE_SEC * 1.3)

    async def _restart(self, how: signal.Signals, away_sec: float) -> None:
        self._switch.off(how)
        try:
            await asyncio.sleep(away_sec)
        finally:
            self._switch.on()
