"""What came of a run that a test has made."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bide.authoring import DAG
from bide.model.states import RunState, TaskState
from bide.testing.engine import NONE, Engine


@dataclass(frozen=True)
class TaskResult:
    """How one task instance has ended, and the value that it has returned."""

    task_id: str
    map_index: int
    state: TaskState
    tries: int
    value: Any


@dataclass(frozen=True)
class RunResult:
    """How a run has ended. `result["task"]` is a task, `result["task", 2]` an instance of a mapped one."""

    state: RunState
    tasks: tuple[TaskResult, ...]

    def __getitem__(self, name: str | tuple[str, int]) -> TaskResult:
        task_id, map_index = name if isinstance(name, tuple) else (name, -1)
        for task in self.tasks:
            if (task.task_id, task.map_index) == (task_id, map_index):
                return task
        names = ", ".join(
            f"{task.task_id}[{task.map_index}]" if task.map_index >= 0 else task.task_id for task in self.tasks
        )
        raise KeyError(f"The run has no task {name!r}; it has {names}.")

    def values(self, task_id: str) -> list[Any]:
        """List what the instances of a mapped task have returned."""
        return [task.value for task in self.tasks if task.task_id == task_id]


def run(
    dag: DAG,
    conf: Mapping[str, Any] = NONE,
    *,
    logical_date: datetime | None = None,
    started_at: datetime | None = None,
    variables: Mapping[str, str] = NONE,
    connections: Mapping[str, str] = NONE,
) -> RunResult:
    """Run a DAG to its end, and tell how it went. Connections are URIs."""
    with Engine.fresh(started_at) as engine:
        for key, value in variables.items():
            engine.set_variable(key, value)
        for conn_id, uri in connections.items():
            engine.set_connection(conn_id, uri.partition(":")[0], uri)
        number = engine.launch(dag, conf, logical_date)
        engine.go()
        return result_of(engine, number)


def result_of(engine: Engine, number: int) -> RunResult:
    """Read how a run stands."""
    state, instances = engine.states(number)
    return RunResult(
        state,
        tuple(
            TaskResult(
                one.task_id,
                one.map_index,
                one.state,
                one.try_number,
                engine.xcom(number, one.task_id, one.map_index),
            )
            for one in instances
        ),
    )
