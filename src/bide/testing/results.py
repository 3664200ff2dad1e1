"""Running a DAG for a test, and reading what came of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bide.authoring import DAG
from bide.authoring.results import RunResult, TaskResult
from bide.model.states import TaskState
from bide.testing.engine import NONE, Engine


def run(
    dag: DAG,
    conf: Mapping[str, Any] = NONE,
    *,
    logical_date: datetime | None = None,
    started_at: datetime | None = None,
    variables: Mapping[str, str] = NONE,
    connections: Mapping[str, str] = NONE,
    events: Mapping[str, Any] = NONE,
) -> RunResult:
    """Run a DAG to its end, and tell how it went. Connections are URIs.

    `events` says what the triggers of some tasks yield, which are not run then: a payload, an event, or an exception.
    """
    with Engine.fresh(started_at) as engine:
        for key, value in variables.items():
            engine.set_variable(key, value)
        for conn_id, uri in connections.items():
            engine.set_connection(conn_id, uri.partition(":")[0], uri)
        number = engine.launch(dag, conf, logical_date)
        engine.go(by_hand=events)
        while waiting := [row for row in engine.waiting(number) if row.task_id in events]:
            for row in waiting:
                engine.fire(number, row.task_id, events[row.task_id], row.map_index)
            engine.go(by_hand=events)
        return result_of(engine, number)


def result_of(engine: Engine, number: int) -> RunResult:
    """Read how a run stands."""
    state, instances = engine.states(number)
    values, logs = engine.values(number), engine.logs(number)
    tasks = [
        TaskResult(
            one.task_id,
            one.map_index,
            one.state,
            one.try_number,
            values.get(one.id),
            logs.get(one.id, ""),
            reason_of(engine, number, one.task_id, one.map_index) if one.state is TaskState.FAILED else None,
        )
        for one in instances
    ]
    return RunResult(engine.name(number), state, tuple(tasks))


def reason_of(engine: Engine, number: int, task_id: str, map_index: int) -> str | None:
    """Read why a task has ended so."""
    history = engine.history(number, task_id, map_index)
    return history[-1].why if history else None
