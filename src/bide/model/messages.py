"""What services and the children that run a user's code say to one another over their sockets.

A child holds no password and no key, so everything that it wants from the engine it asks for here, and everything that
it has to say is said here. Values of the user (XComs, keyword arguments, a run's configuration) are text that the
codec has written in a child; a service passes them on unread.

Four conversations:

* the DAG processor sends `Fork` to a process that is ready to parse, `ParseFiles` to the child, answers what a file
  asks for (`ReadByFile`), and gets `Parsed` for one after the other, unless it hears first that the child is `Gone`;
* a worker sends `LoadFile` to a warm process, answers what the file asks for, and gets `Loaded` or `NotLoaded`; then it
  sends `Fork` for each child that it wants, with the child's ends of a socket and a log pipe attached, and hears
  `Forked`, and `Gone` when the child has ended, by itself or after `Stop` or `Kill`;
* a worker sends `RunLeg` or `RunCallback` to a child, answers its questions (`Ask`) with `Answer`, and gets `Ended`. A
  child takes as many, one after the other, as it was forked for;
* a triggerer sends triggers to a runner, which runs thousands of them on one event loop; the words are in
  `bide.model.trigger_messages`.
"""

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from bide.model.outcome import Outcome
from bide.model.plan import Callback, DagPlan
from bide.model.questions import Ask, ReadByFile

# Parsing a file. --------------------------------------------------------------------------------------------


class ParseFiles(Struct, frozen=True, tag=True):
    """Run DAG files, one after the other, and tell what is in each. `root` is the folder that their imports start from.

    After a file that cannot be used as it is, or that has changed its process, the rest is left for another child.
    """

    paths: tuple[str, ...]
    root: str


class Broken(Struct, frozen=True):
    """Why a file, or one DAG of it, cannot be used: a sentence for its author, and the traceback if there is one."""

    error: str
    traceback: str = ""


class Parsed(Struct, frozen=True, tag=True):
    """What was found in a file. `modules` are the files below the root that it has imported or read, and folders."""

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
    """Fork a child for so many legs, of so much memory (0: no limit).

    Two descriptors come along: its socket and the pipe that its output goes to.
    """

    number: int
    legs: int = 1
    memory_mb: int = 0


class Stop(Struct, frozen=True, tag=True):
    """Ask a child to end: SIGTERM, so that its task's `on_kill` runs."""

    number: int


class Kill(Struct, frozen=True, tag=True):
    """End a child and everything that it has begun: SIGKILL to its whole process group."""

    number: int


class Forked(Struct, frozen=True, tag=True):
    """The child is there. Its process group has the same number as itself."""

    number: int
    pid: int


class Gone(Struct, frozen=True, tag=True):
    """A child has ended: with an exit code, or by a signal (then `status` is negative). Or it never was, says `why`."""

    number: int
    status: int
    peak_memory_kb: int = 0
    cpu_sec: float = 0.0
    why: str = ""


class Answer(Struct, frozen=True, tag=True):
    """The answer to one question, or why there is none, in a sentence for the author."""

    value: Any = None
    refused: str | None = None


ToWarm = LoadFile | Fork | Stop | Kill | Answer
FromWarm = Loaded | NotLoaded | Forked | Gone | ReadByFile
ToParser = ParseFiles | Answer
FromParser = Parsed | ReadByFile


EXIT_CUT_OFF = 113
"""The exit code of a child that has lost its socket: the worker is gone, or the task's code has closed it."""

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
    end_date: datetime | None = None
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


class RunCallback(Struct, frozen=True, kw_only=True, tag=True):
    """Call what the author wants to be called after this try; `of_run` tells that it is the DAG's own, after the run.

    The child says `Ended` as for a leg: nothing was left if it succeeded.
    """

    kind: Callback
    leg: RunLeg
    of_run: bool = False
    reason: str | None = None
    time_left: timedelta | None = None

    @property
    def run(self) -> RunFacts:
        """The run that it is about."""
        return self.leg.run


class Ended(Struct, frozen=True, tag=True):
    """The leg is over. After this the child says nothing more about it.

    `again` says whether the child can take another leg. What it has used is told of the process: its memory at most so
    far, and the processor time of this leg.
    """

    outcome: Outcome
    again: bool = False
    peak_memory_kb: int = 0
    cpu_sec: float = 0.0


ToChild = RunLeg | RunCallback | Answer
FromChild = Ended | Ask
