"""What a task raises to say how it ends, and what it may have to catch. The names that Airflow has for it work too."""

from datetime import datetime, timedelta

from bide.errors import BideError, PlanError


class TaskError(Exception):
    """Something went wrong in a task. Raise it, or a class of your own below it, to fail a try."""


class TaskFailed(TaskError):
    """The task has failed, and another try would be of no use."""


class TaskSkipped(TaskError):
    """There is nothing to do, so the task counts as skipped."""


class SensorTimeout(TaskError):
    """What a sensor waits for did not come in time. It is not tried again."""


class ParamsRefused(TaskError, ValueError):
    """The params of a run are not what their schema asks for."""


class NotFound(TaskError, LookupError):
    """A variable, a connection or an XCom is not there."""


class EngineRefused(TaskError):
    """The engine has not done what the task has asked it for."""


class TaskRescheduled(TaskError):
    """A sensor in reschedule mode gives its worker away until it looks again."""

    def __init__(self, reschedule_date: datetime | None = None, *, after: timedelta | None = None) -> None:
        super().__init__(f"looks again at {reschedule_date}" if reschedule_date else f"looks again in {after}")
        self.until = reschedule_date
        self.after = after


# The next two do not derive from Exception, so that `except Exception` in a task does not swallow them.


class TaskTimeout(BaseException):
    """The task has taken longer than its execution_timeout."""


class TaskTerminated(BaseException):
    """The task was told to stop, or its try was taken away."""


AirflowException = TaskError
AirflowFailException = TaskFailed
AirflowSkipException = TaskSkipped
AirflowSensorTimeout = SensorTimeout
AirflowRescheduleException = TaskRescheduled
AirflowTaskTimeout = TaskTimeout
AirflowTaskTerminated = TaskTerminated
AirflowNotFoundException = NotFound
ParamValidationError = ParamsRefused
XComNotFound = NotFound

__all__ = [
    "AirflowException",
    "AirflowFailException",
    "AirflowNotFoundException",
    "AirflowRescheduleException",
    "AirflowSensorTimeout",
    "AirflowSkipException",
    "AirflowTaskTerminated",
    "AirflowTaskTimeout",
    "BideError",
    "EngineRefused",
    "NotFound",
    "ParamValidationError",
    "ParamsRefused",
    "PlanError",
    "SensorTimeout",
    "TaskError",
    "TaskFailed",
    "TaskRescheduled",
    "TaskSkipped",
    "TaskTerminated",
    "TaskTimeout",
    "XComNotFound",
]
