"""Trying out a DAG, or one task of it, with somebody looking on: what `dag.test()` and `bide dags test` do."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bide.authoring import DAG
from bide.authoring.plan import to_plan
from bide.authoring.results import RunResult
from bide.control.known import unknown
from bide.errors import Refusal
from bide.model.instances import known_number
from bide.model.plan import DagPlan
from bide.model.retry import RetryPolicy
from bide.model.states import TERMINAL, TaskState
from bide.model.trigger_rules import TriggerRule
from bide.testing.engine import Engine
from bide.testing.files import connections_in, variables_in
from bide.testing.output import Show, named
from bide.testing.results import result_of

Look = Callable[[Engine, int], object]
"""Is called with the engine and the number of the run whenever something has changed."""


@dataclass(frozen=True)
class Given:
    """What a DAG is tried out with; variables and connections may come from files, and from the environment."""

    conf: Mapping[str, Any] = field(default_factory=dict)
    logical_date: datetime | None = None
    started_at: datetime | None = None
    variables: str | Path | None = None
    connections: str | Path | None = None


def try_dag(dag: DAG, given: Given, show: Show, look: Look, assumed: str | None = None) -> RunResult:
    """Run a DAG to its end. Tasks whose ids match `assumed` count as done without being run."""
    return _tried(dag, to_plan(dag), given, show, look, assumed)


def try_task(dag: DAG, task_id: str, given: Given, show: Show) -> RunResult:
    """Run one task alone, once, as if everything before it were done."""
    return _tried(dag, _alone(to_plan(dag), task_id), given, show, lambda engine, number: None, None)


def _alone(plan: DagPlan, task_id: str) -> DagPlan:
    tasks = {task.task_id: task for task in plan.tasks}
    if task_id not in tasks:
        raise unknown("task", task_id, tasks, f"it has {', '.join(tasks) or 'no tasks'}.", f" in {plan.dag_id}")
    task = tasks[task_id]
    if task.mapped is not None and known_number(task.mapped) is None:
        raise Refusal(
            f"{task_id!r} is mapped over what other tasks return, so it cannot be run without them; test the DAG."
        )
    alone = replace(
        task,
        upstream=(),
        trigger_rule=TriggerRule.ALWAYS,
        retry=RetryPolicy(),
        is_empty=False,
        depends_on_past=False,
        wait_for_downstream=False,
        callbacks=frozenset(),
    )
    return replace(plan, tasks=(alone,), callbacks=frozenset())


def _tried(dag: DAG, plan: DagPlan, given: Given, show: Show, look: Look, assumed: str | None) -> RunResult:
    variables = variables_in(given.variables) if given.variables else {}
    connections = connections_in(given.connections) if given.connections else {}
    with Engine.fresh(given.started_at, os.environ, show) as engine:
        for key, value in variables.items():
            engine.set_variable(key, value)
        for conn_id, text in connections.items():
            engine.set_connection(conn_id, "", text)
        engine.add(dag, plan)
        number = engine.launch(dag, given.conf, given.logical_date)
        if assumed is not None:
            done = [one.id for one in engine.states(number)[1] if re.search(assumed, one.task_id)]
            engine.mark(done, TaskState.SUCCESS)
        engine.changed = lambda: look(engine, number)
        engine.go()
        engine.changed()
        return result_of(engine, number)


def shown_plainly(dag: DAG, given: Given, assumed: str | None = None) -> RunResult:
    """Run a DAG to its end, and write on standard error what its tasks write and how they end."""
    out, seen = sys.stderr, dict[tuple[str, int], TaskState]()

    def show(task: str, line: str) -> None:
        print(f"{task} | {line}", file=out)

    def look(engine: Engine, number: int) -> None:
        for one in engine.states(number)[1]:
            if one.state in TERMINAL and seen.get((one.task_id, one.map_index)) is not one.state:
                seen[one.task_id, one.map_index] = one.state
                print(f"{named(one.task_id, one.map_index)} {one.state}", file=out)

    result = try_dag(dag, given, show, look, assumed)
    print(f"{dag.dag_id} {result.run_id}: {result.state}", file=out)
    return result
