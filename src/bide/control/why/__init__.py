"""Why a task is where it is and what will move it: one sentence, from facts that a few statements read.

`facts` reads them. The other modules are tables: each row is a cause, when it is the one, and what is said then. Of the
causes of a state the first that holds is told, so those that somebody has to do something about come first.
"""

from msgspec import Struct

from bide.control.why import at_work, ended, unstarted, waiting
from bide.control.why.facts import Cause, Facts, read
from bide.errors import Unknown
from bide.model.states import TERMINAL, TaskState
from bide.store.database import Database
from bide.store.why import task_situation

CAUSES: dict[TaskState, tuple[Cause, ...]] = {
    TaskState.NONE: unstarted.NOT_READY,
    TaskState.RESTARTING: (unstarted.STILL_STOPPING, *unstarted.NOT_READY),
    TaskState.SCHEDULED: unstarted.READY,
    TaskState.QUEUED: at_work.QUEUED,
    TaskState.RUNNING: at_work.RUNNING,
    TaskState.SHUTDOWN: at_work.SHUTDOWN,
    TaskState.DEFERRED: waiting.DEFERRED,
    TaskState.UP_FOR_RETRY: waiting.DATED,
    TaskState.UP_FOR_RESCHEDULE: waiting.DATED,
    **{state: ended.ENDED[state] for state in TERMINAL},
}


def cause_of(facts: Facts) -> Cause:
    """Find the cause that there is to tell."""
    return next(cause for cause in CAUSES[facts.task.state] if cause.holds(facts))


def why(facts: Facts) -> str:
    """Say why a task is where it is, and what will move it."""
    return cause_of(facts).says(facts)


class Told(Struct, frozen=True):
    """A sentence about a task, and the short name of the cause that it tells."""

    state: TaskState
    cause: str
    sentence: str


async def told(db: Database, dag_id: str, run_id: str, task_id: str, map_index: int) -> Told:
    """Say why a task instance is where it is."""
    task = await task_situation(db, dag_id, run_id, task_id, map_index)
    if task is None:
        raise Unknown(f"The task {task_id!r} of {dag_id} {run_id} has just been taken away.")
    facts = await read(db, task)
    return Told(task.state, cause_of(facts).name, why(facts))
