"""What the code of a task asks of the engine: each question is a struct, and its docstring says what the answer is."""

from datetime import datetime

from msgspec import Struct

from bide.model.states import TaskState

CONNECTION_IN_ENVIRONMENT = "BIDE_CONN_"
VARIABLE_IN_ENVIRONMENT = "BIDE_VAR_"
"""How the names begin by which variables and connections stand in the environment of a service, or of an author."""


class GetXCom(Struct, frozen=True, kw_only=True, tag=True):
    """The value that a task has left under a key. Answer: its text, or None."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = -1
    key: str = "return_value"
    include_prior_dates: bool = False


class GetXComs(Struct, frozen=True, kw_only=True, tag=True):
    """The values that all instances of a task have left under a key, by map index. Answer: a list of texts."""

    dag_id: str
    run_id: str
    task_id: str
    key: str = "return_value"


class PutXCom(Struct, frozen=True, kw_only=True, tag=True):
    """Leave a value now, while the leg still runs. Answer: True, or False if the leg is no longer this child's."""

    key: str
    value: str


class GetVariable(Struct, frozen=True, tag=True):
    """A variable. Answer: its text, or None."""

    key: str


class PutVariable(Struct, frozen=True, tag=True):
    """Set a variable. Answer: True."""

    key: str
    value: str
    description: str = ""


class DeleteVariable(Struct, frozen=True, tag=True):
    """Remove a variable. Answer: whether it was there."""

    key: str


class GetConnection(Struct, frozen=True, tag=True):
    """A connection. Answer: its URI or JSON text, or None."""

    conn_id: str


class LaunchRun(Struct, frozen=True, kw_only=True, tag=True):
    """Launch a run of a DAG. Answer: the run id if the run came to be, None if it was there already."""

    dag_id: str
    run_id: str | None = None
    logical_date: datetime | None = None
    conf: str | None = None


class ClearRun(Struct, frozen=True, tag=True):
    """Clear all tasks of a run, so that it runs again. Answer: the number of tasks."""

    dag_id: str
    run_id: str


class GetRun(Struct, frozen=True, kw_only=True, tag=True):
    """A run by its id or by its logical date. Answer: its state, or None if there is no such run."""

    dag_id: str
    run_id: str | None = None
    logical_date: datetime | None = None


class GetPreviousRun(Struct, frozen=True, kw_only=True, tag=True):
    """The last run of this DAG before this one by logical date, perhaps in a given state. Answer: RunFacts, or None."""

    dag_id: str
    before: datetime
    state: str | None = None


class IsLatestRun(Struct, frozen=True, tag=True):
    """Whether no later run of the DAG's schedule is due by now. Answer: True or False."""

    dag_id: str
    run_id: str


class GetTasks(Struct, frozen=True, kw_only=True, tag=True):
    """The tasks of a DAG, or of one of its groups. Answer: a list of ids, or None if there is no such DAG or group."""

    dag_id: str
    group_id: str | None = None


class CountTasks(Struct, frozen=True, kw_only=True, tag=True):
    """How many task instances are in these states. Answer: a number.

    None of `task_ids` means all tasks of the DAG; the runs are named by ids or by logical dates.
    """

    dag_id: str
    states: tuple[TaskState, ...]
    task_ids: tuple[str, ...] | None = None
    run_ids: tuple[str, ...] | None = None
    logical_dates: tuple[datetime, ...] | None = None


ReadByFile = GetVariable | GetConnection
"""What a DAG file may ask while it is imported."""

Ask = (
    GetXCom
    | GetXComs
    | PutXCom
    | GetVariable
    | PutVariable
    | DeleteVariable
    | GetConnection
    | LaunchRun
    | ClearRun
    | GetRun
    | GetPreviousRun
    | IsLatestRun
    | GetTasks
    | CountTasks
)
