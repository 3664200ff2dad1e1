"""How a run ends, told from the states of its tasks."""

from collections.abc import Iterable

from bide.model.states import UNFINISHED, RunState, TaskState

_FAILURES = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED})


def run_outcome(tasks: Iterable[tuple[TaskState, bool]]) -> RunState | None:
    """Tell how a run ended from (state, is a leaf) of each task instance; None while anything is unfinished.

    Only leaves decide: a failure that a later task was there to handle does not fail the run.
    """
    leaf_failed = False
    for state, is_leaf in tasks:
        if state in UNFINISHED:
            return None
        leaf_failed |= is_leaf and state in _FAILURES
    return RunState.FAILED if leaf_failed else RunState.SUCCESS
