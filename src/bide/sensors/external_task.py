"""A sensor for runs and tasks of other DAGs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, Unpack

from bide.authoring import (
    BaseSensorOperator,
    BaseTrigger,
    Context,
    DagRunState,
    SensorArguments,
    TaskInstanceState,
    call_with_context,
    count_tasks,
    run_state,
    task_ids,
)
from bide.exceptions import TaskError, TaskFailed, TaskSkipped
from bide.triggers.external_task import ExternalTaskTrigger


class ExternalTaskSensor(BaseSensorOperator):
    """Waits until a run of another DAG, or some tasks or a group in it, have ended as they should.

    It looks at the run with the same logical date; `execution_delta` looks so much further back, and
    `execution_date_fn` returns the date or dates to look at.
    """

    template_fields: Collection[str] = (
        "external_dag_id",
        "external_task_id",
        "external_task_ids",
        "external_task_group_id",
    )
    ui_color = "#4db7db"
    has_both_modes = True

    def __init__(
        self,
        *,
        external_dag_id: str,
        external_task_id: str | None = None,
        external_task_ids: Collection[str] | None = None,
        external_task_group_id: str | None = None,
        allowed_states: Iterable[str] | None = None,
        skipped_states: Iterable[str] | None = None,
        failed_states: Iterable[str] | None = None,
        execution_delta: timedelta | None = None,
        execution_date_fn: Callable[..., Any] | None = None,
        check_existence: bool = False,
        **kwargs: Unpack[SensorArguments],
    ) -> None:
        super().__init__(**kwargs)
        named = [external_task_id, external_task_ids, external_task_group_id]
        if sum(name is not None for name in named) > 1:
            raise self.mistake("give one of external_task_id, external_task_ids and external_task_group_id.")
        if execution_delta is not None and execution_date_fn is not None:
            raise self.mistake("give execution_delta or execution_date_fn, not both.")
        self.external_dag_id = external_dag_id
        self.external_task_id = external_task_id
        self.external_task_ids = external_task_ids
        self.external_task_group_id = external_task_group_id
        self.whole_run = all(name is None for name in named)
        self.allowed_states = self._states("allowed_states", allowed_states, ["success"])
        self.skipped_states = self._states("skipped_states", skipped_states, [])
        self.failed_states = self._states("failed_states", failed_states, [])
        self.execution_delta = execution_delta
        self.execution_date_fn = execution_date_fn
        self.check_existence = check_existence

    def _states(self, name: str, given: Iterable[str] | None, otherwise: list[str]) -> set[str]:
        known = DagRunState if self.whole_run else TaskInstanceState
        states = set(otherwise if given is None else given)
        for state in states:
            if state not in set(known):
                raise self.mistake(f"{name} has {state!r}; it may have {', '.join(known)}.")
        return states

    def poke(self, context: Context) -> bool:
        """Look at the other DAG."""
        dates = self._dates(context)
        if self.check_existence:
            self._refuse_missing()
            self.check_existence = False
        self.log.info("Looking at DAG %s for %s", self.external_dag_id, ", ".join(map(str, dates)))
        return self._look_at_runs(dates) if self.whole_run else self._look_at_tasks(dates)

    def trigger(self, context: Context) -> BaseTrigger:
        """Let somebody look who looks for all that wait for the same."""
        failed, skipped = self.failed_states, self.skipped_states
        if self.soft_fail:
            failed, skipped = set(), failed | skipped
        whole_run, by_group = self.whole_run, self.external_task_group_id is not None
        return ExternalTaskTrigger(
            self.external_dag_id,
            self._dates(context),
            external_task_ids=None if whole_run or by_group else self._named_tasks(),
            external_task_group_id=self.external_task_group_id,
            allowed_states=self.allowed_states,
            skipped_states=skipped,
            failed_states=failed,
            poke_interval=self.poke_interval,
            end_from_trigger=self.ends_in_trigger,
        )

    def _dates(self, context: Context) -> list[datetime]:
        date = context["dag_run"].logical_date
        if date is None:
            raise TaskFailed("This run has no logical date, so there is no run of another DAG that belongs to it.")
        if self.execution_delta is not None:
            return [date - self.execution_delta]
        if self.execution_date_fn is None:
            return [date]
        found = call_with_context(self.execution_date_fn, (date,), {}, context)
        return [found] if isinstance(found, datetime) else list(found)

    def _refuse_missing(self) -> None:
        known = task_ids(self.external_dag_id, group_id=self.external_task_group_id)
        if known is None:
            group = f" with a group {self.external_task_group_id!r}" if self.external_task_group_id else ""
            raise TaskFailed(f"There is no DAG {self.external_dag_id!r}{group}.")
        missing = set(self._named_tasks()) - set(known)
        if missing:
            raise TaskFailed(f"DAG {self.external_dag_id!r} has no task {' and '.join(map(repr, sorted(missing)))}.")

    def _named_tasks(self) -> list[str]:
        return [self.external_task_id] if self.external_task_id is not None else list(self.external_task_ids or ())

    def _look_at_runs(self, dates: list[datetime]) -> bool:
        states = {run_state(self.external_dag_id, logical_date=date) for date in dates}
        self._end_early(bool(states & self.failed_states), bool(states & self.skipped_states))
        return states <= self.allowed_states

    def _look_at_tasks(self, dates: list[datetime]) -> bool:
        wanted = self._named_tasks()
        if self.external_task_group_id is not None:
            wanted = task_ids(self.external_dag_id, group_id=self.external_task_group_id) or []
            if not wanted:
                return False

        def number(states: Iterable[str]) -> int:
            chosen = list(states)
            if not chosen:
                return 0
            return count_tasks(self.external_dag_id, states=chosen, task_ids=wanted, logical_dates=dates)

        self._end_early(number(self.failed_states) > 0, number(self.skipped_states) > 0)
        # A mapped task has many instances, and all of them must have ended so.
        there = number(TaskInstanceState)
        return there >= len(wanted) * len(dates) and there == number(self.allowed_states)

    def _end_early(self, failed: bool, skipped: bool) -> None:
        what = f"What it waits for in DAG {self.external_dag_id!r}"
        if failed and self.soft_fail:
            raise TaskSkipped(f"{what} has failed.")
        if failed:
            raise TaskError(f"{what} has failed.")
        if skipped:
            raise TaskSkipped(f"{what} was skipped.")
