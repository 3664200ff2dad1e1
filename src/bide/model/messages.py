"""What services and the children that run a user's code say to one another over their sockets.

A child holds no password and no key, so everything that it wants from the engine it asks for here, and everything that
it has to say is said here. Values of the user (XComs, keyword arguments, a run's configuration) are text that the
codec has written in a child; a service passes them on unread.

Three conversations:

* the DAG processor sends `ParseFile` to a parser and gets `Parsed`;
* a worker sends `LoadFile` to a warm process and gets `Loaded` or `NotLoaded`, then `Fork` for each child that it
  wants, with the child's ends of a socket and a log pipe attached, and gets `Gone` when a child has ended;
* a worker sends `RunLeg` to a child, answers its questions (`Ask`) with `Answer`, and gets `Ended`.
"""

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from bide.model.outcome import Outcome
from bide.model.plan import DagPlan
from bide.model.states import TaskState

# Parsing a file. --------------------------------------------------------------------------------------------


class ParseFile(Struct, frozen=True, tag=True):
    """Run a DAG file and tell what is in it. `root` is the folder that its imports start from."""

    path: str
    root: str


class Broken(Struct, frozen=True):
    """Why a file, or one DAG of it, cannot be used: a sentence for its author, and the traceback if there is one."""

    error: str
    traceback: str = ""


class Parsed(Struct, frozen=True, tag=True):
    """What was found in a file. `modules` are the files below the root that it has imported."""

    plans: tuple[DagPlan, ...] = ()
    broken: Broken | None = None
    modules: tuple[str, ...] = ()
    source: str = ""


# Getting children. ------------------------------------------------------------------------------------------


class LoadFile(Struct, frozen=True, tag=True):
    """Import a DAG file from this very source, and keep its DAGs for the children to come."""

    path: str
    root: str
    source: str


class Loaded(Struct, frozen=True, tag=True):
    """The file's DAGs are there."""

    dag_ids: tuple[str, ...]


class NotLoaded(Struct, frozen=True, tag=True):
    """The file cannot be imported; its legs fail with this."""

    error: str
    traceback: str = ""


class Fork(Struct, frozen=True, tag=True):
    """Fork a child. Two descriptors come along: its socket and the pipe that its output goes to."""

    number: int


class Gone(Struct, frozen=True, tag=True):
    """A child has ended: with an exit code, or by a signal (then `status` is negative)."""

    number: int
    status: int
    peak_memory_kb: int
    cpu_sec: float


FromWorker = LoadFile | Fork
FromWarm = Loaded | NotLoaded | Gone


# Running a leg. ---------------------------------------------------------------------------------------------


class RunFacts(Struct, frozen=True, kw_only=True):
    """A run, as its tasks may know it."""

    dag_id: str
    run_id: str
    run_type: str
    logical_date: datetime | None = None
    data_interval_start: datetime | None = None
    data_interval_end: datetime | None = None
    start_date: datetime | None = None
    conf: str | None = None


class RunLeg(Struct, frozen=True, kw_only=True, tag=True):
    """Run this leg. Durations were measured by the database's clock when the leg was started; `now` is that moment."""

    id: int
    leg: int
    task_id: str
    map_index: int
    try_number: int
    max_tries: int
    run: RunFacts
    now: datetime
    next_method: str | None = None
    next_kwargs: str | None = None
    try_time_left: timedelta | None = None
    sensor_time_left: timedelta | None = None


class Ended(Struct, frozen=True, tag=True):
    """The leg is over. After this the child says nothing more about it."""

    outcome: Outcome


# Questions of a leg. ----------------------------------------------------------------------------------------


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


class CountTasks(Struct, frozen=True, kw_only=True, tag=True):
    """How many task instances are in these states. Answer: a number.

    None of `task_ids` means all tasks of the DAG; the runs are named by ids or by logical dates.
    """

    dag_id: str
    states: tuple[TaskState, ...]
    task_ids: tuple[str, ...] | None = None
    run_ids: tuple[str, ...] | None = None
    logical_dates: tuple[datetime, ...] | None = None


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
    | CountTasks
)


class Answer(Struct, frozen=True, tag=True):
    """The answer to the last question, or why there is none: a sentence for the task's author."""

    value: Any = None
    refused: str | None = None


ToChild = RunLeg | Answer
FromChild = Ended | Ask
