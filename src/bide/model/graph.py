"""What follows from the order of a DAG's tasks: who comes before whom, who decides the end, who goes first.

Every function here expects a plan that `check` accepts, except that `topological` itself finds circles.
"""

import heapq
from collections.abc import Iterable, Mapping

from bide.errors import CircleError
from bide.model.plan import DagPlan, WeightRule

WEIGHT_LIMIT = 2**31 - 1
"""Priority weights are kept within a database integer."""

_CYCLE_SHOWN = 10


def downstream(plan: DagPlan) -> dict[str, list[str]]:
    """List the direct downstream tasks of every task."""
    after: dict[str, list[str]] = {task.task_id: [] for task in plan.tasks}
    for task in plan.tasks:
        for upstream_id in task.upstream:
            after[upstream_id].append(task.task_id)
    return after


def tasks_in_group(plan: DagPlan, group_id: str) -> list[str] | None:
    """List the tasks of a group and of the groups within it; None if there is no such group."""
    parents = {group.group_id: group.parent for group in plan.groups}
    if group_id not in parents:
        return None

    def lies_within(name: str | None) -> bool:
        return name == group_id or (name is not None and lies_within(parents.get(name)))

    return [task.task_id for task in plan.tasks if lies_within(task.group)]


def leaves(plan: DagPlan) -> frozenset[str]:
    """Find the tasks that decide how a run ends: those with nothing downstream.

    Teardowns tidy up: they never stand between a task and the end of the run, and are leaves themselves only
    if their author said that their failure fails the run. With `fail_fast` every task is a leaf: the first
    failure skips the rest, so the tasks at the end could not tell of it any more.
    """
    if plan.fail_fast:
        return frozenset(task.task_id for task in plan.tasks)
    followed = {upstream_id for task in plan.tasks if not task.is_teardown for upstream_id in task.upstream}
    return frozenset(
        task.task_id
        for task in plan.tasks
        if (task.on_failure_fail_dagrun if task.is_teardown else task.task_id not in followed)
    )


def topological(plan: DagPlan) -> list[str]:
    """Order the tasks so that each comes after its upstreams; ties keep the order of the file."""
    place = {task.task_id: number for number, task in enumerate(plan.tasks)}
    missing = {task.task_id: len(task.upstream) for task in plan.tasks}
    after = downstream(plan)
    free = [place[task_id] for task_id, count in missing.items() if count == 0]
    order = []
    while free:
        task_id = plan.tasks[heapq.heappop(free)].task_id
        order.append(task_id)
        for next_id in after[task_id]:
            missing[next_id] -= 1
            if missing[next_id] == 0:
                heapq.heappush(free, place[next_id])
    if len(order) < len(plan.tasks):
        circle = _circle(plan, frozenset(order))
        shown = circle if len(circle) <= _CYCLE_SHOWN else [*circle[: _CYCLE_SHOWN - 1], "…"]
        told = " >> ".join([*shown, circle[0]])
        raise CircleError(
            f"Tasks wait for one another in a circle: {told}. Take one of these dependencies away.", tuple(circle)
        )
    return order


def priority_weights(plan: DagPlan) -> dict[str, int]:
    """Compute the priority of every task from its own weight and, by its rule, those of its relatives."""
    # A set of tasks is one int with a bit for each task: ten thousand tasks have up to fifty million
    # pairs of relatives, which Python could not walk one by one.
    bits = {task.task_id: 1 << number for number, task in enumerate(plan.tasks)}
    order = topological(plan)
    members = {
        WeightRule.ABSOLUTE: bits,
        WeightRule.DOWNSTREAM: _with_relatives(reversed(order), downstream(plan), bits),
        WeightRule.UPSTREAM: _with_relatives(order, {task.task_id: task.upstream for task in plan.tasks}, bits),
    }
    digits = _digits({task.task_id: task.priority_weight for task in plan.tasks}, bits)
    weights = {}
    for task in plan.tasks:
        counted = members[task.weight_rule][task.task_id]
        weight = sum(value * (counted & holders).bit_count() for value, holders in digits.items())
        weights[task.task_id] = max(-WEIGHT_LIMIT, min(weight, WEIGHT_LIMIT))
    return weights


def _with_relatives(
    order: Iterable[str], nearest: Mapping[str, Iterable[str]], bits: Mapping[str, int]
) -> dict[str, int]:
    """Map each task to itself and all its relatives; `order` brings the nearest ones first."""
    found: dict[str, int] = {}
    for task_id in order:
        members = bits[task_id]
        for relative in nearest[task_id]:
            members |= found[relative]
        found[task_id] = members
    return found


def _digits(weights: Mapping[str, int], bits: Mapping[str, int]) -> dict[int, int]:
    """Split weights into binary digits, each with the tasks that have it: there are few, however weights differ."""
    digits: dict[int, int] = {}
    for task_id, weight in weights.items():
        sign, size = (1, weight) if weight >= 0 else (-1, -weight)
        for exponent in range(size.bit_length()):
            if size >> exponent & 1:
                value = sign << exponent
                digits[value] = digits.get(value, 0) | bits[task_id]
    return digits


def _circle(plan: DagPlan, in_order: frozenset[str]) -> list[str]:
    """Name the tasks of one circle in the order of their dependencies, from the first in the file."""
    # What could not be put in order has an upstream of the same kind, so a walk upwards comes round at last.
    upwards = {
        task.task_id: next(upstream_id for upstream_id in task.upstream if upstream_id not in in_order)
        for task in plan.tasks
        if task.task_id not in in_order
    }
    walked = []
    task_id = next(iter(upwards))
    seen = set()
    while task_id not in seen:
        seen.add(task_id)
        walked.append(task_id)
        task_id = upwards[task_id]
    circle = walked[walked.index(task_id) :][::-1]
    within = frozenset(circle)
    start = circle.index(next(first for first in upwards if first in within))
    return circle[start:] + circle[:start]
