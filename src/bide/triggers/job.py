"""A trigger for a job in some other system: it looks by the methods of the operator that has started the job."""

from __future__ import annotations

import asyncio
from typing import Any

from bide.authoring import PollingTrigger, Recipe, made_from, needs_dag_files

RUNNING = "running"


class JobTrigger(PollingTrigger):
    """Waits until a job is no longer running, and yields its state. When the wait is stopped, so is the job.

    `operator` is the recipe of a JobOperator, whose `status` and `cancel` are called in a thread.
    """

    def __init__(self, operator: Recipe, job_id: Any, *, poke_interval: float = 30) -> None:
        super().__init__()
        self.operator = operator
        self.job_id = job_id
        self.poke_interval = poke_interval

    def needs_dag_files(self) -> bool:
        """Tell whether the operator stands there."""
        return needs_dag_files(self.operator)

    async def look(self) -> str | None:
        """Ask how the job stands."""
        state = await asyncio.to_thread(lambda: made_from(self.operator).status(self.job_id))
        return None if state == RUNNING else state

    async def on_kill(self, reason: str) -> None:
        """Stop the job."""
        self.log.info("The wait was stopped (%s), and so is job %s.", reason, self.job_id)
        await asyncio.to_thread(lambda: made_from(self.operator).cancel(self.job_id))
