"""`@task`: functions that are tasks, of every kind that comes along."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container
from datetime import timedelta
from typing import Any, Literal, ParamSpec, Protocol, Unpack, overload

from bide.authoring import Context, TaskArguments, TaskFunction, call_with_context, mistake, near
from bide.exceptions import TaskFailed, TaskSkipped
from bide.operators.bash import BashOperator
from bide.operators.python import BranchPythonOperator, PythonOperator, ShortCircuitOperator
from bide.sensors.python import PythonSensor

P = ParamSpec("P")

_OTHER_KINDS = {
    **dict.fromkeys(
        ("virtualenv", "external_python", "branch_virtualenv", "branch_external_python"),
        "run the other Python with @task.bash instead",
    ),
    **dict.fromkeys(("docker", "kubernetes", "kubernetes_cmd"), "start the container with @task.bash instead"),
    "pyspark": "make the session in the function instead",
}


class PythonTask(PythonOperator):
    """A function."""

    custom_operator_name = "@task"


class BranchTask(BranchPythonOperator):
    """A function that chooses which tasks to go on with."""

    custom_operator_name = "@task.branch"


class ShortCircuitTask(ShortCircuitOperator):
    """A function that decides whether to go on."""

    custom_operator_name = "@task.short_circuit"


class SensorTask(PythonSensor):
    """A function that tells whether something is there."""

    custom_operator_name = "@task.sensor"


class BashTask(BashOperator):
    """A function that returns a command to run. The command may hold templates."""

    custom_operator_name = "@task.bash"
    template_fields: Collection[str] = (*BashOperator.template_fields, "op_args", "op_kwargs")

    def __init__(
        self, *, python_callable: Callable[..., Any], op_args: Any = (), op_kwargs: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**{"bash_command": "", **kwargs})
        self.python_callable = python_callable
        self.op_args = op_args
        self.op_kwargs = op_kwargs or {}

    def execute(self, context: Context) -> Any:
        """Ask the function for the command, and run it."""
        command = call_with_context(self.python_callable, self.op_args, self.op_kwargs, context)
        if not isinstance(command, str) or not command.strip():
            raise TaskFailed("A function that is decorated with @task.bash must return the command to run, as a text.")
        self.bash_command = self.render_template(command, context)
        return super().execute(context)


class Decorator(Protocol):
    """What `@task(…)` is before it stands above a function."""

    def __call__(self, function: Callable[P, object], /) -> TaskFunction[P]:
        """Decorate the function."""


class Guard(Protocol):
    """What `@task.run_if(…)` is before it stands above a task."""

    def __call__(self, function: TaskFunction[P], /) -> TaskFunction[P]:
        """Guard the task."""


class TaskDecorators:
    """`@task`, and its kinds: `@task.bash`, `@task.branch`, `@task.short_circuit`, `@task.sensor`."""

    @overload
    def __call__(self, python_callable: Callable[P, object], /) -> TaskFunction[P]: ...
    @overload
    def __call__(
        self,
        *,
        task_id: str = ...,
        templates_dict: dict[str, Any] | None = ...,
        show_return_value_in_logs: bool = ...,
        **given: Unpack[TaskArguments],
    ) -> Decorator: ...
    def __call__(self, *function: Any, **given: Any) -> Any:
        """Make a task of each call of a function."""
        return _decorated(PythonTask, function, given)

    python = __call__

    @overload
    def bash(self, python_callable: Callable[P, str], /) -> TaskFunction[P]: ...
    @overload
    def bash(
        self,
        *,
        task_id: str = ...,
        env: dict[str, str] | None = ...,
        append_env: bool = ...,
        output_encoding: str = ...,
        skip_on_exit_code: int | Container[int] | None = ...,
        cwd: str | None = ...,
        output_processor: Callable[[str], Any] = ...,
        **given: Unpack[TaskArguments],
    ) -> Decorator: ...
    def bash(self, *function: Any, **given: Any) -> Any:
        """Run the command that a function returns."""
        return _decorated(BashTask, function, given)

    @overload
    def branch(self, python_callable: Callable[P, object], /) -> TaskFunction[P]: ...
    @overload
    def branch(self, *, task_id: str = ..., **given: Unpack[TaskArguments]) -> Decorator: ...
    def branch(self, *function: Any, **given: Any) -> Any:
        """Go on with the tasks or groups whose ids a function returns."""
        return _decorated(BranchTask, function, given)

    @overload
    def short_circuit(self, python_callable: Callable[P, object], /) -> TaskFunction[P]: ...
    @overload
    def short_circuit(
        self,
        *,
        task_id: str = ...,
        ignore_downstream_trigger_rules: bool = ...,
        **given: Unpack[TaskArguments],
    ) -> Decorator: ...
    def short_circuit(self, *function: Any, **given: Any) -> Any:
        """Go on only if a function returns something true."""
        return _decorated(ShortCircuitTask, function, given)

    @overload
    def sensor(self, python_callable: Callable[P, object], /) -> TaskFunction[P]: ...
    @overload
    def sensor(
        self,
        *,
        task_id: str = ...,
        poke_interval: timedelta | float = ...,
        timeout: timedelta | float = ...,
        mode: Literal["poke", "reschedule"] = ...,
        soft_fail: bool = ...,
        exponential_backoff: bool = ...,
        max_wait: timedelta | float | None = ...,
        silent_fail: bool = ...,
        never_fail: bool = ...,
        deferrable: bool = ...,
        **given: Unpack[TaskArguments],
    ) -> Decorator: ...
    def sensor(self, *function: Any, **given: Any) -> Any:
        """Wait until a function returns something true."""
        return _decorated(SensorTask, function, given)

    def run_if(self, condition: Callable[[Context], object], skip_message: str | None = None) -> Guard:
        """Run a task only if something is true just before: `@task.run_if(condition)` above `@task`."""
        return _guarded(condition, skip_message or "The condition of run_if does not hold.", runs_if=True)

    def skip_if(self, condition: Callable[[Context], object], skip_message: str | None = None) -> Guard:
        """Skip a task if something is true just before: `@task.skip_if(condition)` above `@task`."""
        return _guarded(condition, skip_message or "The condition of skip_if holds.", runs_if=False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _OTHER_KINDS:
            raise mistake(f"@task.{name} does not work here; {_OTHER_KINDS[name]}.")
        kinds = ("python", "bash", "branch", "short_circuit", "sensor", "run_if", "skip_if")
        raise mistake(f"There is no @task.{name}{near(name, kinds)}")


def _guarded(condition: Callable[[Context], object], message: str, *, runs_if: bool) -> Guard:
    def guard(context: Context) -> None:
        if bool(condition(context)) is not runs_if:
            raise TaskSkipped(message)

    def decorate(function: TaskFunction[P]) -> TaskFunction[P]:
        if not isinstance(function, TaskFunction):
            raise mistake("@task.run_if(…) and @task.skip_if(…) stand above @task, not below it.")
        return function.before(guard)

    return decorate


def _decorated(kind: type[Any], bare: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """Decorate the function that stands below a bare `@task`, or wait for it below one with arguments."""
    if bare:
        return TaskFunction(kind, bare[0], given)
    return lambda function: TaskFunction(kind, function, given)


task = TaskDecorators()
