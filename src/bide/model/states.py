"""The states a task instance and a run can be in, and the few families of them that rules speak about."""

from enum import StrEnum


class TaskState(StrEnum):
    """Where one task of one run is. Its whole life is this one value."""

    NONE = "none"  # not yet looked at: its dependencies do not hold yet
    SCHEDULED = "scheduled"  # may run as soon as there is room
    QUEUED = "queued"  # handed to an executor
    RUNNING = "running"  # a worker's child runs it
    DEFERRED = "deferred"  # waits in a trigger, uses no worker
    UP_FOR_RETRY = "up_for_retry"  # failed, tries again at a date
    UP_FOR_RESCHEDULE = "up_for_reschedule"  # a sensor that looks again at a date
    RESTARTING = "restarting"  # cleared by a person, starts afresh when its dependencies hold
    SHUTDOWN = "shutdown"  # its worker is leaving; runs again without using up a try
    SUCCESS = "success"  # did its work, or somebody said that it counts as done
    FAILED = "failed"  # failed, and no try is left
    SKIPPED = "skipped"  # had nothing to do
    UPSTREAM_FAILED = "upstream_failed"  # never started, because of what failed before it
    REMOVED = "removed"  # no longer in the DAG


class RunState(StrEnum):
    """Where one run of a DAG is."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"


TERMINAL = frozenset(
    {
        TaskState.SUCCESS,
        TaskState.FAILED,
        TaskState.SKIPPED,
        TaskState.UPSTREAM_FAILED,
        TaskState.REMOVED,
    }
)
"""States that only a person leaves."""

UNFINISHED = frozenset(TaskState) - TERMINAL
"""States from which the engine goes on by itself."""

FINISHED_RUN = frozenset({RunState.SUCCESS, RunState.FAILED})
