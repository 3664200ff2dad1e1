"""The run and the task instance as a task sees them: `dag_run` and `ti` of its context."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import pendulum

from bide.authoring.engine import run_state
from bide.authoring.place import mistake
from bide.authoring.port import ask
from bide.authoring.values import VALUES, in_utc
from bide.authoring.xcomarg import RETURN_KEY
from bide.exceptions import TaskTerminated
from bide.model.messages import RunFacts, RunLeg
from bide.model.questions import GetPreviousRun, GetXCom, GetXComs, PutXCom
from bide.model.states import RunState, TaskState

if TYPE_CHECKING:
    from datetime import datetime

    from pendulum import DateTime

    from bide.authoring.context import Context
    from bide.authoring.operator import BaseOperator

_ALL: Any = object()


def pendulum_date(date: datetime | None) -> DateTime | None:
    """Return a date as authors are used to it."""
    return None if date is None else pendulum.instance(date)


class DagRun:
    """One run of a DAG. `conf` is what somebody has said about this run."""

    def __init__(self, facts: RunFacts) -> None:
        self._facts = facts
        self.dag_id = facts.dag_id
        self.run_id = facts.run_id
        self.run_type = facts.run_type

    @cached_property
    def conf(self) -> dict[str, Any]:
        """What somebody has said about this run; empty if that is nothing."""
        return {} if self._facts.conf is None else VALUES.decode(self._facts.conf) or {}

    # Most tasks look at none of these dates, and making them takes longer than the rest.

    @cached_property
    def logical_date(self) -> DateTime | None:
        """The date that the run stands for."""
        return pendulum_date(self._facts.logical_date)

    @cached_property
    def data_interval_start(self) -> DateTime | None:
        """Where the stretch of time begins that the run is about."""
        return pendulum_date(self._facts.data_interval_start)

    @cached_property
    def data_interval_end(self) -> DateTime | None:
        """Where that stretch of time ends."""
        return pendulum_date(self._facts.data_interval_end)

    @cached_property
    def start_date(self) -> DateTime | None:
        """When the run began."""
        return pendulum_date(self._facts.start_date)

    @cached_property
    def end_date(self) -> DateTime | None:
        """When the run ended."""
        return pendulum_date(self._facts.end_date)

    @property
    def run_after(self) -> DateTime | None:
        """When the run was due."""
        return self.data_interval_end or self.logical_date or self.start_date

    @property
    def has_logical_date(self) -> bool:
        """Whether it stands for a date; one that was launched by hand need not."""
        return self._facts.logical_date is not None

    def __repr__(self) -> str:
        return f"<DagRun {self.dag_id} {self.run_id}>"


class RuntimeTaskInstance:
    """The task instance that is being run."""

    def __init__(self, order: RunLeg, task: BaseOperator, dag_run: DagRun) -> None:
        self.task = task
        self.dag_run = dag_run
        self.dag_id = dag_run.dag_id
        self.run_id = dag_run.run_id
        self.task_id = order.task_id
        self.map_index = order.map_index
        self.try_number = order.try_number
        self.max_tries = order.max_tries
        self._started = order.now
        self.sensor_time_left = order.sensor_time_left
        self.state = TaskState.RUNNING
        self.operator = task.operator_name
        self.queue = task.queue
        self.pool = task.pool
        self.end_date: DateTime | None = None
        self.context: Context = {}
        self.skipped: list[str] | None = None

    @cached_property
    def start_date(self) -> DateTime:
        """When this leg began."""
        return pendulum.instance(self._started)

    @cached_property
    def last_success(self) -> DagRun | None:
        """The last run before this one that succeeded."""
        return self.get_previous_dagrun(RunState.SUCCESS)

    @property
    def logical_date(self) -> DateTime | None:
        """The date that the run stands for."""
        return self.dag_run.logical_date

    @property
    def hostname(self) -> str:
        """The machine that this runs on."""
        return socket.gethostname()

    @property
    def log_url(self) -> str:
        """How its log is read: by this command, until there are pages with addresses."""
        index = "" if self.map_index < 0 else f" --map-index {self.map_index}"
        return f"bide tasks logs {self.dag_id} {self.run_id} {self.task_id}{index}"

    @property
    def log(self) -> logging.Logger:
        """Where the task writes its log."""
        return self.task.log

    @property
    def key(self) -> str:
        """What tells it from all others."""
        instance = f"{self.dag_id}__{self.task_id}__{self.run_id}"
        return instance if self.map_index < 0 else f"{instance}__{self.map_index}"

    def __repr__(self) -> str:
        return f"<TaskInstance {self.dag_id}.{self.task_id} {self.run_id} [running]>"

    # XComs. ---------------------------------------------------------------------------------------------------

    def xcom_push(self, key: str, value: Any) -> None:
        """Leave a value for other tasks, at once."""
        if not ask(PutXCom(key=key, value=VALUES.encode(value, f"XCom {key!r}"))):
            raise TaskTerminated("This try has been taken away, so nothing is stored any more.")

    def xcom_pull(
        self,
        task_ids: str | Iterable[str] | None = None,
        dag_id: str | None = None,
        key: str = RETURN_KEY,
        include_prior_dates: bool = False,
        *,
        map_indexes: int | Iterable[int] | None = _ALL,
        default: Any = None,
        run_id: str | None = None,
    ) -> Any:
        """Fetch what one task has left, or a list of what several have left. Of a mapped task that is a list too."""
        if task_ids is None:
            own = self.map_index if map_indexes is _ALL else map_indexes
            return self._pull(self.task_id, dag_id, run_id, key, include_prior_dates, own, default)
        if isinstance(task_ids, str):
            return self._pull(task_ids, dag_id, run_id, key, include_prior_dates, map_indexes, default)
        return [
            self._pull(task_id, dag_id, run_id, key, include_prior_dates, map_indexes, default) for task_id in task_ids
        ]

    def _pull(
        self,
        task_id: str,
        dag_id: str | None,
        run_id: str | None,
        key: str,
        prior: bool,
        map_indexes: Any,
        default: Any,
    ) -> Any:
        where: dict[str, Any] = {
            "dag_id": dag_id or self.dag_id,
            "run_id": run_id or self.run_id,
            "task_id": task_id,
            "key": key,
        }
        if map_indexes is _ALL:
            if self._is_mapped(dag_id, task_id):
                return [VALUES.decode(text) for text in ask(GetXComs(**where))]
            map_indexes = -1
        if map_indexes is None or isinstance(map_indexes, int):
            index = -1 if map_indexes is None else map_indexes
            text = ask(GetXCom(**where, map_index=index, include_prior_dates=prior))
            return default if text is None else VALUES.decode(text)
        return [self._pull(task_id, dag_id, run_id, key, prior, index, default) for index in map_indexes]

    def _is_mapped(self, dag_id: str | None, task_id: str) -> bool:
        dag = self.task.dag
        if dag_id in (None, self.dag_id) and dag.has_task(task_id):
            return dag.get_task(task_id).is_mapped
        return False

    # What comes after, and what was before. -------------------------------------------------------------------

    def skip_tasks(self, task_ids: Iterable[str]) -> None:
        """Name tasks after this one that are to be skipped when it has ended well."""
        wanted = dict.fromkeys(task_ids)
        for task_id in wanted:
            if not self.task.dag.has_task(task_id):
                raise mistake(f"Task {task_id!r} cannot be skipped: it is not in DAG {self.dag_id!r}.")
        self.skipped = list(dict.fromkeys([*(self.skipped or []), *wanted]))

    def get_previous_dagrun(self, state: str | None = None) -> DagRun | None:
        """Return the run of this DAG before this one by logical date, perhaps the last one in a given state."""
        if self.dag_run.logical_date is None:
            return None
        before = in_utc(self.dag_run.logical_date)
        found = ask(GetPreviousRun(dag_id=self.dag_id, before=before, state=state))
        return None if found is None else DagRun(msgspec.convert(found, RunFacts))

    def get_previous_start_date(self, state: str | None = None) -> DateTime | None:
        """Return when the run before this one began."""
        previous = self.get_previous_dagrun(state)
        return None if previous is None else previous.start_date

    def get_dagrun_state(self, dag_id: str | None = None, run_id: str | None = None) -> str | None:
        """Tell where a run is; by default this one."""
        return run_state(dag_id or self.dag_id, run_id=run_id or self.run_id)

    def get_template_context(self) -> Context:
        """Return the context of this leg."""
        return self.context
