"""Every verb of the engine as data: which states it leaves, where it leads, what it must hold, who says it.

A verb is the same word everywhere: a row here, a statement in `sql/`, a function in `store/`, an entry in the
history, a line in the log. The diagram and the tables in `docs/` and the matrix tests are made from this file.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from bide.model.states import TERMINAL, UNFINISHED, RunState, TaskState

S = TaskState
FAIL_METHOD = "__fail__"
"""The `next_method` of a leg that has only to fail. The scheduler finishes it; no worker is used."""


class Fence(StrEnum):
    """What a verb must prove, beside the state, before it may change a row."""

    LEG = "leg"  # the leg that the caller was given
    CLAIM = "claim"  # the claim that the triggerer was given
    EPOCH = "epoch"  # the picture of the run on which the scheduler decided is still the last one
    DATE = "date"  # a date has come, by the database's clock
    TURN = "turn"  # nobody else has handed out capacity since it was counted
    DEAD_OWNER = "dead owner"  # the process that holds the row is gone
    STATE = "state"  # the state alone: a person's word


@dataclass(frozen=True)
class Verb:
    """One named transition of a task instance: `moves` maps each state it leaves to the states it can lead to."""

    name: str
    moves: Mapping[TaskState, frozenset[TaskState]]
    fence: Fence
    by: str
    when: str
    new_leg: bool = False

    def allows(self, before: TaskState, after: TaskState) -> bool:
        return after in self.moves.get(before, frozenset())


def _from(states: Iterable[TaskState], *to: TaskState) -> dict[TaskState, frozenset[TaskState]]:
    return {state: frozenset(to) for state in states}


def _verb(
    name: str, moves: dict[TaskState, frozenset[TaskState]], fence: Fence, by: str, when: str, new_leg: bool = False
) -> Verb:
    return Verb(name, MappingProxyType(moves), fence, by, when, new_leg)


_UNSTARTED = (S.NONE, S.RESTARTING)
_STOPPABLE = frozenset(UNFINISHED)
_MARKS = (S.SUCCESS, S.FAILED, S.SKIPPED)
# A task whose child may still run keeps its worker until the worker has said that the child is gone.
_LET_GO = {S.SHUTDOWN: frozenset({S.SCHEDULED}), S.RESTARTING: frozenset({S.RESTARTING})} | {
    state: frozenset({state}) for state in TERMINAL
}

TASK_VERBS: tuple[Verb, ...] = (
    _verb("ready", _from(_UNSTARTED, S.SCHEDULED), Fence.EPOCH, "scheduler", "its trigger rule holds"),
    _verb(
        "block",
        _from((*_UNSTARTED, S.SCHEDULED), S.UPSTREAM_FAILED),
        Fence.EPOCH,
        "scheduler",
        "its trigger rule can no longer hold, because something upstream failed",
    ),
    _verb(
        "skip_unstarted",
        _from((*_UNSTARTED, S.SCHEDULED), S.SKIPPED),
        Fence.EPOCH,
        "scheduler",
        "a branch went elsewhere, or its trigger rule says so",
    ),
    _verb(
        "pass_empty",
        _from(_UNSTARTED, S.SUCCESS),
        Fence.EPOCH,
        "scheduler",
        "its trigger rule holds and it has nothing to do",
    ),
    _verb(
        "enqueue",
        _from([S.SCHEDULED], S.QUEUED),
        Fence.TURN,
        "scheduler",
        "pool, concurrency and priority allow",
        new_leg=True,
    ),
    _verb(
        "defer_at_start",
        _from([S.SCHEDULED], S.DEFERRED),
        Fence.TURN,
        "scheduler",
        "it begins in its trigger",
        new_leg=True,
    ),
    _verb("unqueue", _from([S.QUEUED], S.SCHEDULED), Fence.LEG, "scheduler", "the executor lost or refused it"),
    _verb("start", _from([S.QUEUED], S.RUNNING), Fence.LEG, "worker", "a child takes it up"),
    _verb("succeed", _from([S.RUNNING], S.SUCCESS), Fence.LEG, "worker", "its code returned"),
    _verb("skip", _from([S.RUNNING], S.SKIPPED), Fence.LEG, "worker", "its code said so"),
    _verb(
        "fail",
        _from([S.RUNNING, S.SCHEDULED], S.FAILED, S.UP_FOR_RETRY),
        Fence.LEG,
        "worker, scheduler",
        f"its code raised; from scheduled only a leg whose next method is `{FAIL_METHOD}`",
    ),
    _verb(
        "reschedule",
        _from([S.RUNNING], S.UP_FOR_RESCHEDULE),
        Fence.LEG,
        "worker",
        "a sensor will look again at a date",
    ),
    _verb("defer", _from([S.RUNNING], S.DEFERRED), Fence.LEG, "worker", "it has nothing to do but wait"),
    _verb("drain", _from([S.RUNNING], S.SHUTDOWN), Fence.LEG, "worker", "the worker leaves and its grace has run out"),
    _verb(
        "stopped",
        dict(_LET_GO),
        Fence.LEG,
        "worker",
        "the child of a leg that was taken away or drained is gone",
    ),
    _verb(
        "rescue",
        _from([S.RUNNING], S.SCHEDULED) | _LET_GO,
        Fence.DEAD_OWNER,
        "scheduler",
        f"its worker is gone; a running leg goes on to `{FAIL_METHOD}`",
        new_leg=True,
    ),
    _verb("fire", _from([S.DEFERRED], S.SCHEDULED), Fence.CLAIM, "triggerer", "its trigger yielded an event"),
    _verb(
        "fire_due",
        _from([S.DEFERRED], S.SCHEDULED, S.SUCCESS),
        Fence.DATE,
        "scheduler",
        "it waits for a date and the date has come",
    ),
    _verb(
        "end",
        _from([S.DEFERRED], S.SUCCESS, S.SKIPPED, S.SCHEDULED),
        Fence.CLAIM,
        "triggerer",
        f"its trigger yielded the end of the task; a failure goes on to `{FAIL_METHOD}`",
    ),
    _verb(
        "crash",
        _from([S.DEFERRED], S.SCHEDULED),
        Fence.CLAIM,
        "triggerer",
        f"its trigger raised or ended without an event; goes on to `{FAIL_METHOD}`",
    ),
    _verb(
        "lapse",
        _from([S.DEFERRED], S.SCHEDULED),
        Fence.DATE,
        "scheduler",
        f"the wait took too long; goes on to `{FAIL_METHOD}`",
    ),
    _verb(
        "wake",
        _from([S.UP_FOR_RETRY, S.UP_FOR_RESCHEDULE], S.SCHEDULED),
        Fence.DATE,
        "scheduler",
        "the date of the next try or look has come",
    ),
    _verb(
        "clear",
        _from([S.SCHEDULED, S.QUEUED, S.DEFERRED, S.UP_FOR_RETRY, S.UP_FOR_RESCHEDULE], S.NONE)
        | _from([S.RUNNING, S.SHUTDOWN, *TERMINAL], S.RESTARTING),
        Fence.STATE,
        "person",
        "it shall run afresh",
        new_leg=True,
    ),
    _verb(
        "mark",
        {state: frozenset(_MARKS) - {state} for state in TaskState},
        Fence.STATE,
        "person",
        "it shall count as done; stops what runs or waits",
        new_leg=True,
    ),
    _verb(
        "stop",
        _from(_STOPPABLE, S.SKIPPED),
        Fence.STATE,
        "scheduler",
        "its run timed out, or failed fast",
        new_leg=True,
    ),
    _verb(
        "remove",
        _from(_STOPPABLE, S.REMOVED),
        Fence.STATE,
        "scheduler",
        "it is no longer in the DAG",
        new_leg=True,
    ),
)


@dataclass(frozen=True)
class RunVerb:
    """One named transition of a run."""

    name: str
    moves: Mapping[RunState, frozenset[RunState]]
    fence: Fence
    by: str
    when: str


def _run_verb(
    name: str, before: Iterable[RunState], after: Iterable[RunState], fence: Fence, by: str, when: str
) -> RunVerb:
    return RunVerb(name, MappingProxyType({state: frozenset(after) for state in before}), fence, by, when)


R = RunState
RUN_VERBS: tuple[RunVerb, ...] = (
    _run_verb("begin", [R.QUEUED], [R.RUNNING], Fence.TURN, "scheduler", "the DAG may have one more active run"),
    _run_verb(
        "conclude",
        [R.RUNNING],
        [R.SUCCESS, R.FAILED],
        Fence.EPOCH,
        "scheduler",
        "every task is terminal; failed if a leaf failed",
    ),
    _run_verb("expire", [R.RUNNING], [R.FAILED], Fence.DATE, "scheduler", "it took longer than `dagrun_timeout`"),
    _run_verb("reopen", [R.SUCCESS, R.FAILED], [R.QUEUED], Fence.STATE, "person", "one of its tasks was cleared"),
    _run_verb(
        "mark_run", [R.QUEUED, R.RUNNING], [R.SUCCESS, R.FAILED], Fence.STATE, "person", "it shall count as done"
    ),
)


@dataclass(frozen=True)
class HolderVerb:
    """A verb about who holds a wait, or about a process. The task instance stays where it is."""

    name: str
    subject: str
    fence: Fence
    by: str
    when: str


HOLDER_VERBS: tuple[HolderVerb, ...] = (
    HolderVerb("claim", "wait", Fence.STATE, "triggerer", "nobody holds it; claim + 1"),
    HolderVerb("release", "wait", Fence.CLAIM, "triggerer", "the triggerer leaves or hands it over; claim + 1"),
    HolderVerb("orphan", "wait", Fence.DEAD_OWNER, "anybody", "its triggerer is gone; claim + 1"),
    HolderVerb("park", "wait", Fence.CLAIM, "triggerer", "its code or its key is not there; claim + 1"),
    HolderVerb("unpark", "wait", Fence.DATE, "anybody", "time to try a parked wait again"),
    HolderVerb("take_kill", "kill", Fence.STATE, "triggerer", "an `on_kill` is asked for; claim + 1"),
    HolderVerb("acknowledge", "kill", Fence.CLAIM, "triggerer", "its `on_kill` has run"),
    HolderVerb("give_up", "kill", Fence.DATE, "scheduler", "its `on_kill` did not run in time"),
    HolderVerb("register", "job", Fence.STATE, "every process", "a process begins"),
    HolderVerb("beat", "job", Fence.STATE, "every process", "it is alive; refused once it was buried"),
    HolderVerb("retire", "job", Fence.STATE, "every process", "it leaves in order"),
    HolderVerb("suspect", "job", Fence.DATE, "anybody", "its heartbeat is late or its lock was freed"),
    HolderVerb("bury", "job", Fence.DATE, "anybody", "it stayed silent for too long after that"),
)

VERBS: Mapping[str, Verb] = MappingProxyType({verb.name: verb for verb in TASK_VERBS})
