"""The task instances that a run of a plan begins with."""

from datetime import timedelta
from math import prod

from msgspec import Struct

from bide.model.graph import leaves, priority_weights
from bide.model.plan import DagPlan, MapInput, MapPlan, TaskPlan


class NewTask(Struct, frozen=True):
    """A task instance that every run of the version shall have; `callbacks` are separated by commas."""

    task_id: str
    map_index: int = -1
    operator: str = ""
    pool: str = "default_pool"
    pool_slots: int = 1
    priority_weight: int = 1
    queue: str = "default"
    retries: int = 0
    execution_timeout: timedelta | None = None
    sensor_timeout: timedelta | None = None
    max_active_tis_per_dag: int | None = None
    max_active_tis_per_dagrun: int | None = None
    is_leaf: bool = False
    callbacks: str = ""


def new_tasks(plan: DagPlan) -> list[NewTask]:
    """List the task instances of a new run; a mapped task has one until the number of its elements is known."""
    weights, last = priority_weights(plan), leaves(plan)
    return [
        _new_task(task, map_index, weights[task.task_id], task.task_id in last)
        for task in plan.tasks
        for map_index in _map_indexes(task)
    ]


def _map_indexes(task: TaskPlan) -> range:
    number = known_number(task.mapped) if task.mapped else None
    # Without an element there is nothing to run, but an instance to be skipped.
    return range(number) if number else range(-1, 0)


def known_number(mapped: MapPlan) -> int | None:
    """Count the elements that a task is mapped over, if the file alone tells."""
    counts = [known_elements(argument) for argument in mapped.inputs]
    known = [count for count in counts if count is not None]
    return prod(known) if len(known) == len(counts) else None


def known_elements(argument: MapInput) -> int | None:
    """Count the elements of one argument, if the file alone tells."""
    lengths = [source.length for source in argument.sources]
    return combined(argument, [length for length in lengths if length is not None]) if None not in lengths else None


def combined(argument: MapInput, lengths: list[int]) -> int:
    """Count the elements that several lists of these lengths make."""
    match argument.combine:
        case "concat":
            return sum(lengths)
        case "zip_longest":
            return max(lengths, default=0)
        case _:
            return min(lengths, default=0)


def _new_task(task: TaskPlan, map_index: int, priority_weight: int, is_leaf: bool) -> NewTask:
    return NewTask(
        task_id=task.task_id,
        map_index=map_index,
        operator=task.operator,
        pool=task.pool,
        pool_slots=task.pool_slots,
        priority_weight=priority_weight,
        queue=task.queue,
        retries=task.retry.retries,
        execution_timeout=task.execution_timeout,
        sensor_timeout=task.sensor_timeout,
        max_active_tis_per_dag=task.max_active_tis_per_dag,
        max_active_tis_per_dagrun=task.max_active_tis_per_dagrun,
        is_leaf=is_leaf,
        callbacks=",".join(sorted(task.callbacks)),
    )
