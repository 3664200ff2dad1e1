"""Those who use the system meanwhile: they launch runs, clear tasks and mark them."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from types import MappingProxyType

from bide.errors import BideError
from bide.model.states import TaskState
from bide.store import people
from tests.system.site import Site

# The DAGs that are launched, and how often in comparison.
LOAD: Mapping[str, int] = MappingProxyType({"errand": 1, "waiting": 2})
MOST_RUNNING = 8
PAUSE_SEC = (0.05, 0.2)
PATIENCE = timedelta(seconds=5)
MARKS = (TaskState.SUCCESS, TaskState.FAILED, TaskState.SKIPPED)


class People:
    """Everybody who has something to do with the system."""

    def __init__(self, here: Site, load: Mapping[str, int], seed: int) -> None:
        self.done: Counter[str] = Counter()
        self._here, self._load = here, load
        self._rng = random.Random(seed)

    async def go(self) -> None:
        """Use the system for as long as this is not cancelled."""
        while True:
            # An outage is no reason to give up.
            with suppress(BideError):
                await self._do_something()
            await asyncio.sleep(self._rng.uniform(*PAUSE_SEC))

    async def _do_something(self) -> None:
        chance = self._rng.random()
        if chance < 0.6:
            if await self._running() >= MOST_RUNNING:
                return
            (dag_id,) = self._rng.choices(list(self._load), list(self._load.values()))
            await self._here.launch(dag_id, f"run-{self.done['launched']}")
            self.done["launched"] += 1
        elif chance < 0.85:
            self.done["cleared"] += len(await people.clear(self._here.db, "person", PATIENCE, await self._some_task()))
        else:
            to = self._rng.choice(MARKS)
            self.done["marked"] += len(
                await people.mark(self._here.db, "person", PATIENCE, await self._some_task(), to)
            )

    async def _running(self) -> int:
        rows = await self._here.ask("select count(*) as number from dag_run where state in ('queued', 'running')")
        return int(rows[0]["number"])

    async def _some_task(self) -> list[int]:
        rows = await self._here.ask("select id from task_instance order by id desc limit 100")
        return [self._rng.choice(rows)["id"]] if rows else []
