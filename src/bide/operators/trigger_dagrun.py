"""An operator that launches a run of another DAG."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Unpack

from bide.authoring import BaseOperator, Context, DagRunState, OperatorArguments, clear_run, launch_run, rest, run_state
from bide.authoring import conf as settings
from bide.exceptions import TaskError, TaskSkipped
from bide.triggers.external_task import DagRunTrigger

XCOM_RUN_ID = "trigger_run_id"


class TriggerDagRunOperator(BaseOperator):
    """Launches a run of another DAG, and may wait until it has ended."""

    template_fields: Collection[str] = ("trigger_dag_id", "trigger_run_id", "logical_date", "conf")
    template_fields_renderers: Mapping[str, str] = {"conf": "py"}
    ui_color = "#ffefeb"

    def __init__(
        self,
        *,
        trigger_dag_id: str,
        trigger_run_id: str | None = None,
        conf: dict[str, Any] | None = None,
        logical_date: str | datetime | None = None,
        reset_dag_run: bool = False,
        skip_when_already_exists: bool = False,
        wait_for_completion: bool = False,
        poke_interval: float = 60,
        allowed_states: Collection[str] | None = None,
        failed_states: Collection[str] | None = None,
        deferrable: bool | None = None,
        **kwargs: Unpack[OperatorArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.trigger_dag_id = trigger_dag_id
        self.trigger_run_id = trigger_run_id
        self.conf = conf
        self.logical_date = logical_date
        self.reset_dag_run = reset_dag_run
        self.skip_when_already_exists = skip_when_already_exists
        self.wait_for_completion = wait_for_completion
        self.poke_interval = poke_interval
        self.allowed_states = {DagRunState(state) for state in allowed_states or (DagRunState.SUCCESS,)}
        self.failed_states = {DagRunState(state) for state in failed_states or (DagRunState.FAILED,)}
        by_default = wait_for_completion and settings.getboolean("operators", "default_deferrable")
        self.deferrable = by_default if deferrable is None else deferrable

    def execute(self, context: Context) -> None:
        """Launch the run."""
        date = self._date()
        run_id = self.trigger_run_id or f"manual__{(date or context['ti'].start_date).isoformat()}"
        launched = launch_run(self.trigger_dag_id, run_id=run_id, logical_date=date, conf=self.conf)
        if launched is None:
            self._meet_existing(run_id)
        run_id = launched or run_id
        self.log.info("Launched run %s of DAG %s.", run_id, self.trigger_dag_id)
        context["ti"].xcom_push(XCOM_RUN_ID, run_id)
        if self.wait_for_completion and self.deferrable:
            trigger = DagRunTrigger(
                self.trigger_dag_id,
                run_id,
                states=self.allowed_states | self.failed_states,
                poke_interval=self.poke_interval,
            )
            self.defer(trigger=trigger, method_name="execute_complete", kwargs={"run_id": run_id})
        if self.wait_for_completion:
            self._wait(run_id)

    def execute_complete(self, context: Context, run_id: str, event: str) -> None:
        """Go on when the run has ended."""
        self._has_ended(run_id, DagRunState(event))

    def _date(self) -> datetime | None:
        if isinstance(self.logical_date, str):
            return datetime.fromisoformat(self.logical_date)
        return self.logical_date

    def _meet_existing(self, run_id: str) -> None:
        if self.reset_dag_run:
            self.log.info("Run %s is there already; it starts afresh.", run_id)
            clear_run(self.trigger_dag_id, run_id)
        elif self.skip_when_already_exists:
            raise TaskSkipped(f"Run {run_id!r} of DAG {self.trigger_dag_id!r} is there already.")
        else:
            raise TaskError(
                f"Run {run_id!r} of DAG {self.trigger_dag_id!r} is there already. Choose another trigger_run_id or "
                "logical_date, or set reset_dag_run=True to let it start afresh."
            )

    def _wait(self, run_id: str) -> None:
        while True:
            state = run_state(self.trigger_dag_id, run_id=run_id)
            if self._has_ended(run_id, state):
                return
            if state is None:
                raise TaskError(f"Run {run_id!r} of DAG {self.trigger_dag_id!r} is gone.")
            self.log.info("Run %s is %s; looking again in %s s.", run_id, state, self.poke_interval)
            rest(self.poke_interval)

    def _has_ended(self, run_id: str, state: DagRunState | None) -> bool:
        if state in self.failed_states:
            raise TaskError(f"Run {run_id!r} of DAG {self.trigger_dag_id!r} has ended as {state}.")
        if state in self.allowed_states:
            self.log.info("Run %s has ended as %s.", run_id, state)
            return True
        return False
