"""The DAGs of the simulated world: few tasks, many rules. What a scheduler must know comes from the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from bide.model.graph import downstream
from bide.model.instances import NewTask, new_tasks
from bide.model.plan import Callback, DagPlan, MapInput, MapPlan, MapSource, TaskPlan
from bide.model.retry import RetryPolicy
from bide.model.trigger_rules import TriggerRule as Rule
from bide.model.wait import Wait

SEC = timedelta(seconds=1)
EVERY_CALLBACK = frozenset({Callback.SUCCESS, Callback.FAILURE, Callback.RETRY, Callback.SKIPPED})
# Slots, and whether waiting tasks keep theirs.
POOLS: Mapping[str, tuple[int, bool]] = {"default_pool": (6, False), "small": (2, False), "patient": (2, True)}
ONCE = RetryPolicy(retries=1, delay=15 * SEC)
TWICE = RetryPolicy(retries=2, delay=10 * SEC, exponential=True)
STARTS_WAITING = Wait(classpath="waits.AtStart", kwargs="{}", next_method="resume", next_kwargs="{}")


@dataclass(frozen=True)
class Shape:
    """A plan, and which of its tasks choose a branch (the others are skipped)."""

    plan: DagPlan
    branches: frozenset[str] = frozenset()

    @cached_property
    def tasks(self) -> Mapping[str, TaskPlan]:
        return {task.task_id: task for task in self.plan.tasks}

    @cached_property
    def after(self) -> Mapping[str, list[str]]:
        return downstream(self.plan)

    @cached_property
    def instances(self) -> list[NewTask]:
        return new_tasks(self.plan)

    @cached_property
    def grown(self) -> "Shape":
        """The next version: every task may be tried once more, and there is one task more."""
        tasks = [replace(task, retry=replace(task.retry, retries=task.retry.retries + 1)) for task in self.plan.tasks]
        return Shape(replace(self.plan, tasks=(*tasks, _task("more"))), self.branches)


def number_of(run: int, epoch: int) -> int:
    """How many elements a task is mapped over whose list another task has left."""
    return 2 + (run + epoch) % 3


def _task(task_id: str, *upstream: str, rule: Rule = Rule.ALL_SUCCESS, **settings: Any) -> TaskPlan:
    return TaskPlan(
        task_id=task_id,
        operator="Simulated",
        upstream=upstream,
        trigger_rule=rule,
        callbacks=EVERY_CALLBACK,
        **settings,
    )


def _over(**source: Any) -> MapPlan:
    return MapPlan(inputs=(MapInput(name="element", sources=(MapSource(**source),)),))


def _dag(dag_id: str, *tasks: TaskPlan, **settings: Any) -> DagPlan:
    return DagPlan(dag_id=dag_id, tasks=tasks, **{"max_active_runs": 2, "max_active_tasks": 4} | settings)


SHAPES: Mapping[str, Shape] = {
    shape.plan.dag_id: shape
    for shape in (
        Shape(
            _dag(
                "chain",
                _task("a", retry=ONCE, execution_timeout=120 * SEC),
                _task("b", "a", pool="small", pool_slots=2, max_active_tis_per_dag=1),
                _task("c", "b", retry=TWICE, queue="big"),
            )
        ),
        Shape(
            _dag(
                "mapped",
                _task("list", pool="patient"),
                _task(
                    "each",
                    "list",
                    mapped=_over(task_id="list"),
                    retry=ONCE,
                    pool="patient",
                    max_active_tis_per_dagrun=2,
                ),
                _task("join", "each", rule=Rule.NONE_FAILED_MIN_ONE_SUCCESS),
                max_active_tasks=3,
            )
        ),
        Shape(
            _dag(
                "waits",
                _task("at_start", start_from_trigger=STARTS_WAITING, pool="patient", retry=ONCE),
                _task("sensor", sensor_timeout=200 * SEC, retry=ONCE, pool="small"),
                _task("softly", sensor_timeout=60 * SEC, soft_fail=True),
                _task("both", "at_start", "sensor", rule=Rule.ONE_SUCCESS, start_from_trigger=STARTS_WAITING),
                _task(
                    "each",
                    "sensor",
                    mapped=_over(length=3),
                    start_from_trigger=STARTS_WAITING,
                    execution_timeout=90 * SEC,
                ),
                dagrun_timeout=500 * SEC,
            )
        ),
        Shape(
            _dag(
                "rules",
                _task("try", retry=ONCE),
                _task("mend", "try", rule=Rule.ALL_FAILED),
                _task("alarm", "try", "mend", rule=Rule.ONE_FAILED),
                _task("nothing", "try", is_empty=True, rule=Rule.ALL_DONE),
                _task("end", "alarm", "nothing", rule=Rule.ALL_DONE, pool="small"),
            )
        ),
        Shape(
            _dag(
                "branch",
                _task("choose"),
                _task("left", "choose", retry=ONCE),
                _task("right", "choose", queue="big"),
                _task("join", "left", "right", rule=Rule.NONE_FAILED, is_empty=True),
            ),
            branches=frozenset({"choose"}),
        ),
        Shape(
            _dag(
                "fast",
                *(_task(name, pool="small") for name in ("one", "two", "three")),
                _task("last", "one", "two", "three"),
                fail_fast=True,
                dagrun_timeout=300 * SEC,
                max_active_runs=1,
            )
        ),
    )
}
