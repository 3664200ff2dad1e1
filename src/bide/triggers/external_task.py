"""Triggers for runs and tasks of other DAGs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from bide.authoring import (
    PollingTrigger,
    TaskInstanceState,
    acount_tasks,
    arun_state,
    atask_ids,
)
from bide.exceptions import TaskError, TaskSkipped


class DagRunTrigger(PollingTrigger):
    """Waits until a run is in one of some states, and yields that state."""

    shared = True

    def __init__(
        self, dag_id: str, run_id: str, *, states: Collection[str] = ("success", "failed"), poke_interval: float = 10
    ) -> None:
        super().__init__()
        self.dag_id = dag_id
        self.run_id = run_id
        self.states = sorted(states)
        self.poke_interval = poke_interval

    async def look(self) -> str | None:
        """Ask for its state."""
        state = await arun_state(self.dag_id, run_id=self.run_id)
        if state is None:
            raise TaskError(f"Run {self.run_id!r} of DAG {self.dag_id!r} is gone.")
        return str(state) if state in self.states else None


class ExternalTaskTrigger(PollingTrigger):
    """Waits until runs of another DAG, or some tasks or a group in them, have ended as they should; yields True.

    However many tasks wait for the same, it is asked for once.
    """

    shared = True

    def __init__(
        self,
        external_dag_id: str,
        logical_dates: Iterable[datetime],
        *,
        external_task_ids: Collection[str] | None = None,
        external_task_group_id: str | None = None,
        allowed_states: Collection[str] = ("success",),
        skipped_states: Collection[str] = (),
        failed_states: Collection[str] = (),
        poke_interval: float = 10,
        end_from_trigger: bool = False,
    ) -> None:
        super().__init__()
        self.external_dag_id = external_dag_id
        self.logical_dates = sorted(logical_dates)
        self.external_task_ids = None if external_task_ids is None else sorted(external_task_ids)
        self.external_task_group_id = external_task_group_id
        self.allowed_states = sorted(allowed_states)
        self.skipped_states = sorted(skipped_states)
        self.failed_states = sorted(failed_states)
        self.poke_interval = poke_interval
        self.end_from_trigger = end_from_trigger

    async def look(self) -> bool | None:
        """Ask how they stand."""
        whole_run = self.external_task_ids is None and self.external_task_group_id is None
        return (await self._runs_are_there() if whole_run else await self._tasks_are_there()) or None

    async def _runs_are_there(self) -> bool:
        states: set[Any] = {await arun_state(self.external_dag_id, logical_date=date) for date in self.logical_dates}
        self._end_early(bool(states & set(self.failed_states)), bool(states & set(self.skipped_states)))
        return states <= set(self.allowed_states)

    async def _tasks_are_there(self) -> bool:
        wanted = self.external_task_ids
        if wanted is None:
            wanted = await atask_ids(self.external_dag_id, group_id=self.external_task_group_id)
        if not wanted:
            return False

        async def number(states: Iterable[str]) -> int:
            chosen = list(states)
            if not chosen:
                return 0
            return await acount_tasks(
                self.external_dag_id, states=chosen, task_ids=wanted, logical_dates=self.logical_dates
            )

        self._end_early(await number(self.failed_states) > 0, await number(self.skipped_states) > 0)
        # A mapped task has many instances, and all of them must have ended so.
        there = await number(TaskInstanceState)
        return there >= len(wanted) * len(self.logical_dates) and there == await number(self.allowed_states)

    def _end_early(self, failed: bool, skipped: bool) -> None:
        what = f"What it waits for in DAG {self.external_dag_id!r}"
        if failed:
            raise TaskError(f"{what} has failed.")
        if skipped:
            raise TaskSkipped(f"{what} was skipped.")
