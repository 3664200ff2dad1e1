"""What a triggerer and the runners that run its triggers say to one another, over a socket and in a page of memory.

A trigger goes by the number that it was given for its stay in this one runner: when it has moved on, what the old
runner still says about it means nobody. A triggerer sends `LoadFile` first where the triggers come from a DAG file, and
gets `Loaded` or `NotLoaded`; then `RunTriggers`, `StopTriggers` and `CallOnKill`. The runner tells what became of them
in `Told`, as many at once as there are. To end a runner its socket is closed; it cleans up and leaves.

What must be known while a trigger holds the event loop stands in the page of memory that both see: see `Word`.
"""

from datetime import datetime
from enum import IntEnum

from msgspec import Struct

from bide.model.messages import Answer, Loaded, LoadFile, NotLoaded
from bide.model.questions import Ask
from bide.model.wait_over import WaitOver


class Word(IntEnum):
    """What stands where in the page that both see: 64-bit numbers, times by the steady clock."""

    STEP = 0  # the trigger that computes at this moment, 0 if none
    SINCE = 1  # when it began to, in nanoseconds
    BEAT = 2  # when the event loop last came round, in nanoseconds
    IMPORT = 3  # a trigger whose class is being imported, 0 if none


OF_FILE = 0
"""In place of a trigger's number where the DAG file asks that is being imported."""
WORDS_SIZE = 8 * len(Word)
BEAT_EVERY_SEC = 0.25

# To a runner. -----------------------------------------------------------------------------------------------


class TaskFacts(Struct, frozen=True, kw_only=True, gc=False):
    """A task that waits, as its trigger may know it."""

    id: int
    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    try_number: int
    leg: int
    logical_date: datetime | None = None
    data_interval_start: datetime | None = None
    data_interval_end: datetime | None = None


class RunTrigger(Struct, frozen=True, kw_only=True):
    """Make a trigger of its class and its arguments, and run it."""

    number: int
    id: int
    classpath: str
    kwargs: str
    task: TaskFacts | None


class RunTriggers(Struct, frozen=True, tag=True):
    """Run these."""

    triggers: tuple[RunTrigger, ...]


class StopTriggers(Struct, frozen=True, tag=True):
    """Let these clean up and go, without their `on_kill`."""

    numbers: tuple[int, ...]


class CallOnKill(Struct, frozen=True, kw_only=True, tag=True):
    """Call `on_kill`: of the trigger of that number if it is here, which then goes, otherwise of one made for it."""

    trigger: RunTrigger
    reason: str
    within_sec: float


class Answered(Struct, frozen=True, tag=True):
    """The answer to a question of a trigger."""

    question: int
    answer: Answer


ToRunner = LoadFile | RunTriggers | StopTriggers | CallOnKill | Answered

# From a runner. ---------------------------------------------------------------------------------------------


class WaitIsOver(Struct, frozen=True, tag=True):
    """Its code has ended the wait."""

    number: int
    how: WaitOver


class NotThere(Struct, frozen=True, tag=True):
    """Its code is not there, or does not take its arguments."""

    number: int
    why: str


class Left(Struct, frozen=True, tag=True):
    """It has cleaned up and is gone; or it would not, and was abandoned."""

    number: int
    abandoned: bool = False


class OnKillCalled(Struct, frozen=True, tag=True):
    """Its `on_kill` has run; what it raised, if anything."""

    number: int
    error: str = ""


class Logged(Struct, frozen=True, tag=True):
    """It has written some lines."""

    number: int
    text: str


class Used(Struct, frozen=True, tag=True):
    """What it has used so far: its steps, the time that they took, and the longest of them, in nanoseconds."""

    number: int
    steps: int
    busy_ns: int
    longest_ns: int


News = WaitIsOver | NotThere | Left | OnKillCalled | Logged | Used


class Told(Struct, frozen=True, tag=True):
    """What became of triggers, in the order in which it happened."""

    words: tuple[News, ...]


class Asked(Struct, frozen=True, tag=True):
    """A trigger wants to know something."""

    question: int
    number: int
    asked: Ask


FromRunner = Loaded | NotLoaded | Told | Asked
