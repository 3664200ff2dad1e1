"""What came of a run that a test has made."""

from dataclasses import dataclass
from typing import Any

from bide.model.states import RunState, TaskState


@dataclass(frozen=True)
class TaskResult:
    """How one task instance has ended, the value that it has returned, what it has written, and why it has failed."""

    task_id: str
    map_index: int
    state: TaskState
    tries: int
    value: Any
    log: str = ""
    reason: str | None = None


@dataclass(frozen=True)
class RunResult:
    """How a run has ended. `result["task"]` is a task, `result["task", 2]` an instance of a mapped one."""

    run_id: str
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
