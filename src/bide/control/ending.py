"""Ending a run by a person's word: its tasks are marked so that they agree with it, then the run."""

from datetime import timedelta

from bide.control.rewriting import mark
from bide.errors import Refusal
from bide.model.states import FINISHED_RUN, UNFINISHED, RunState, TaskState
from bide.store import reports, runs
from bide.store.database import Database
from bide.store.reports import RunFacts, TaskByEnd
from bide.store.runs import Picture

TRIES = 5
"""A scheduler may be at work on the same run, and what it says in between makes another look necessary."""

_FAILURES = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED})
_NOT_BEGUN = frozenset({TaskState.NONE, TaskState.SCHEDULED})


async def end_run(
    db: Database, who: str, kill_patience: timedelta, run: RunFacts, to_state: RunState, why: str = ""
) -> RunState:
    """End a run as a success or a failure."""
    for _ in range(TRIES):
        for task_state, ids in (await to_be_marked(db, run, to_state)).items():
            async for _ in mark(db, who, kill_patience, ids, task_state, why):
                pass
        found = await reports.describe_run(db, run.dag_id, run.run_id)
        if found is None:
            break
        if found.state in FINISHED_RUN:
            return _as_wanted(found, to_state)
        if ended := await runs.mark_run(db, who, [Picture(found.id, found.epoch)], to_state, why):
            return ended[0].state
    raise Refusal(f"The run {run.run_id!r} changes while it is being marked. Pause {run.dag_id!r} and try again.")


async def to_be_marked(db: Database, run: RunFacts, to_state: RunState) -> dict[TaskState, list[int]]:
    """Tell which tasks stand against such an end, by the state that they shall be marked with."""
    found: dict[TaskState, list[int]] = {}
    for task in await reports.tasks_by_end(db, run.id):
        if state := _agreeing(task, to_state):
            found.setdefault(state, []).append(task.id)
    return found


def _agreeing(task: TaskByEnd, to_state: RunState) -> TaskState | None:
    if to_state is RunState.SUCCESS:
        stands_against = task.state in UNFINISHED or (task.is_leaf and task.state in _FAILURES)
        return TaskState.SUCCESS if stands_against else None
    if task.state not in UNFINISHED:
        return None
    # A leaf fails also where it has not begun: the leaves tell how the run ended, and a scheduler may be first to ask.
    return TaskState.SKIPPED if task.state in _NOT_BEGUN and not task.is_leaf else TaskState.FAILED


def _as_wanted(run: RunFacts, to_state: RunState) -> RunState:
    if run.state is not to_state:
        raise Refusal(
            f"The run {run.run_id!r} has ended as {run.state}, and no task of it stands for another end. Mark the "
            f"tasks that count as {to_state} with `bide tasks mark`, or clear them."
        )
    return run.state
