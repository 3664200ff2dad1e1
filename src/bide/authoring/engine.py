"""What a task can ask of the engine beside its own XComs: about runs and tasks of other DAGs, and for new runs.

The functions with an `a` before their names are for triggers, which await the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from bide.authoring.port import ask, async_ask
from bide.authoring.values import VALUES, in_utc
from bide.model import questions
from bide.model.states import RunState, TaskState


def launch_run(
    dag_id: str, *, run_id: str | None = None, logical_date: datetime | None = None, conf: Any = None
) -> str | None:
    """Launch a run of a DAG. Returns its id, or None if there is such a run already."""
    text = None if conf is None else VALUES.encode(conf, "conf")
    answer: str | None = ask(
        questions.LaunchRun(dag_id=dag_id, run_id=run_id, logical_date=in_utc(logical_date), conf=text)
    )
    return answer


def clear_run(dag_id: str, run_id: str) -> None:
    """Let a run start afresh."""
    ask(questions.ClearRun(dag_id, run_id))


def run_state(dag_id: str, *, run_id: str | None = None, logical_date: datetime | None = None) -> RunState | None:
    """Tell where a run is; None if there is no such run."""
    return _run_state(ask(questions.GetRun(dag_id=dag_id, run_id=run_id, logical_date=in_utc(logical_date))))


async def arun_state(
    dag_id: str, *, run_id: str | None = None, logical_date: datetime | None = None
) -> RunState | None:
    """Tell a trigger where a run is; None if there is no such run."""
    question = questions.GetRun(dag_id=dag_id, run_id=run_id, logical_date=in_utc(logical_date))
    return _run_state(await async_ask(question))


def is_latest_run(dag_id: str, run_id: str) -> bool:
    """Tell whether no later run of the schedule is due by now."""
    return bool(ask(questions.IsLatestRun(dag_id, run_id)))


def task_ids(dag_id: str, *, group_id: str | None = None) -> list[str] | None:
    """List the tasks of a DAG, or of one of its groups; None if there is no such DAG or group."""
    return _ids(ask(questions.GetTasks(dag_id=dag_id, group_id=group_id)))


async def atask_ids(dag_id: str, *, group_id: str | None = None) -> list[str] | None:
    """List the tasks of a DAG, or of one of its groups, to a trigger; None if there is no such DAG or group."""
    return _ids(await async_ask(questions.GetTasks(dag_id=dag_id, group_id=group_id)))


def count_tasks(
    dag_id: str,
    *,
    states: Iterable[TaskState | str],
    task_ids: Iterable[str] | None = None,
    logical_dates: Sequence[datetime] | None = None,
    run_ids: Sequence[str] | None = None,
) -> int:
    """Count the task instances of a DAG that are in some states."""
    return int(ask(_count(dag_id, states, task_ids, logical_dates, run_ids)))


async def acount_tasks(
    dag_id: str,
    *,
    states: Iterable[TaskState | str],
    task_ids: Iterable[str] | None = None,
    logical_dates: Sequence[datetime] | None = None,
    run_ids: Sequence[str] | None = None,
) -> int:
    """Count the task instances of a DAG that are in some states, for a trigger."""
    return int(await async_ask(_count(dag_id, states, task_ids, logical_dates, run_ids)))


def _run_state(answer: str | None) -> RunState | None:
    return None if answer is None else RunState(answer)


def _ids(answer: Iterable[str] | None) -> list[str] | None:
    return None if answer is None else list(answer)


def _count(
    dag_id: str,
    states: Iterable[TaskState | str],
    task_ids: Iterable[str] | None,
    logical_dates: Sequence[datetime] | None,
    run_ids: Sequence[str] | None,
) -> questions.CountTasks:
    return questions.CountTasks(
        dag_id=dag_id,
        states=tuple(TaskState(state) for state in states),
        task_ids=None if task_ids is None else tuple(task_ids),
        run_ids=None if run_ids is None else tuple(run_ids),
        logical_dates=None if logical_dates is None else tuple(in_utc(date) for date in logical_dates),
    )
