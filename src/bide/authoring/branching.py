"""Tasks that choose which of the tasks after them are run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bide.authoring.operator import BaseOperator
from bide.authoring.place import kind_of, near
from bide.exceptions import TaskFailed

if TYPE_CHECKING:
    from bide.authoring.context import Context
    from bide.authoring.dag import DAG

Branches = str | Iterable[str] | None


class BaseBranchOperator(BaseOperator):
    """Follows the tasks or groups that `choose_branch` names; the others right after it are skipped."""

    branches = True

    def choose_branch(self, context: Context) -> Branches:
        """Return the ids of the tasks or groups to go on with; None to go on with nothing."""
        raise TaskFailed(f"{type(self).__name__} has no method choose_branch(self, context).")

    def execute(self, context: Context) -> Any:
        """Choose, and have the others skipped."""
        return follow(context, self.choose_branch(context))


def follow(context: Context, chosen: Branches) -> list[str] | str | None:
    """Skip the tasks right after this one, except those that were chosen and those that come after them anyway."""
    task = context["task"]
    named = _named(chosen)
    kept = {task_id for name in named for task_id in _tasks_named(name, task.dag)}
    reached = kept.union(*(task.dag.get_task(task_id).get_flat_relative_ids() for task_id in kept))
    skipped = [task_id for task_id in task.downstream if task_id not in reached]
    task.log.info("Following %s; skipping %s", named or "nothing", skipped or "nothing")
    context["ti"].skip_tasks(skipped)
    return chosen if isinstance(chosen, str) else named or None


def _named(chosen: object) -> list[str]:
    if chosen is None:
        return []
    several = isinstance(chosen, Iterable) and not isinstance(chosen, str)
    named: list[Any] = list(chosen) if several else [chosen]  # type: ignore[call-overload]
    for name in named:
        if not isinstance(name, str):
            raise TaskFailed(f"A branch is chosen by the id of a task or a group, not by {kind_of(name)}.")
    return named


def _tasks_named(name: str, dag: DAG) -> list[str]:
    if name in dag.groups:
        return [task.task_id for task in dag.groups[name].roots]
    if not dag.has_task(name):
        known = [*dag.task_ids, *dag.groups]
        raise TaskFailed(f"The branch {name!r} was chosen, but DAG {dag.dag_id!r} has no such task{near(name, known)}")
    return [name]
