"""Every verb of the engine as data: which states it leaves, where it leads, what it must hold, who says it.

A verb is the same word everywhere: a row here, a statement in `sql/`, a function in `store/`, an entry in the
history, a line in the log. The diagram and the tables in `docs/` and the matrix tests are made from this file.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from bide.model.states import TERMINAL, UNFINISHED, RunState, TaskState

S = TaskState
R = RunState
State = TypeVar("State", bound=StrEnum)

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
    WAIT = "wait"  # the task still waits for what a person saw it wait for


@dataclass(frozen=True)
class Transition(Generic[State]):
    """One named transition: `moves` maps each state it leaves to the states it can lead to."""

    name: str
    moves: Mapping[State, frozenset[State]]
    fence: Fence
    by: str
    when: str
    new_leg: bool = False

    def allows(self, before: State, after: State) -> bool:
        """Tell whether the table has this step."""
        return after in self.moves.get(before, frozenset())


Verb = Transition[TaskState]
RunVerb = Transition[RunState]


def _from(states: Iterable[State], *to: State) -> dict[State, frozenset[State]]:
    return {state: frozenset(to) for state in states}


_UNSTARTED = (S.NONE, S.RESTARTING)
_MARKS = (S.SUCCESS, S.FAILED, S.SKIPPED)
# A task whose child may still run keeps its worker until the worker has said that the child is gone.
_LET_GO = _from([S.SHUTDOWN], S.SCHEDULED) | {state: frozenset({state}) for state in (S.RESTARTING, *TERMINAL)}

TASK_VERBS: tuple[Verb, ...] = (
    Verb("ready", _from(_UNSTARTED, S.SCHEDULED), Fence.EPOCH, "scheduler", "its trigger rule holds"),
    Verb(
        "block",
        _from((*_UNSTARTED, S.SCHEDULED), S.UPSTREAM_FAILED),
        Fence.EPOCH,
        "scheduler",
        "its trigger rule can no longer hold, because something upstream failed",
    ),
    Verb(
        "skip_unstarted",
        _from((*_UNSTARTED, S.SCHEDULED), S.SKIPPED),
        Fence.EPOCH,
        "scheduler",
        "a branch went elsewhere, or its trigger rule says so",
    ),
    Verb(
        "pass_empty",
        _from(_UNSTARTED, S.SUCCESS),
        Fence.EPOCH,
        "scheduler",
        "its trigger rule holds and it has nothing to do",
    ),
    Verb(
        "enqueue",
        _from([S.SCHEDULED], S.QUEUED),
        Fence.TURN,
        "scheduler",
        "pool, concurrency and priority allow",
        new_leg=True,
    ),
    Verb(
        "defer_at_start",
        _from([S.SCHEDULED], S.DEFERRED),
        Fence.TURN,
        "scheduler",
        "it begins in its trigger",
        new_leg=True,
    ),
    Verb("unqueue", _from([S.QUEUED], S.SCHEDULED), Fence.LEG, "scheduler", "the executor lost or refused it"),
    Verb("start", _from([S.QUEUED], S.RUNNING), Fence.LEG, "worker", "a child takes it up"),
    Verb("succeed", _from([S.RUNNING], S.SUCCESS), Fence.LEG, "worker", "its code returned"),
    Verb(
        "skip",
        _from([S.RUNNING, S.SCHEDULED], S.SKIPPED),
        Fence.LEG,
        "worker, scheduler",
        f"its code said so; from scheduled only a sensor with `soft_fail` whose next method is `{FAIL_METHOD}`",
    ),
    Verb(
        "fail",
        _from([S.RUNNING, S.SCHEDULED], S.FAILED, S.UP_FOR_RETRY),
        Fence.LEG,
        "worker, scheduler",
        f"its code raised; from scheduled only a leg whose next method is `{FAIL_METHOD}`",
    ),
    Verb(
        "reschedule",
        _from([S.RUNNING], S.UP_FOR_RESCHEDULE),
        Fence.LEG,
        "worker",
        "a sensor will look again at a date",
    ),
    Verb("defer", _from([S.RUNNING], S.DEFERRED), Fence.LEG, "worker", "it has nothing to do but wait"),
    Verb("drain", _from([S.RUNNING], S.SHUTDOWN), Fence.LEG, "worker", "the worker leaves and its grace has run out"),
    Verb(
        "stopped",
        _LET_GO,
        Fence.LEG,
        "worker",
        "the child of a leg that was taken away or drained is gone",
    ),
    Verb(
        "rescue",
        _from([S.RUNNING], S.SCHEDULED) | _LET_GO,
        Fence.DEAD_OWNER,
        "scheduler",
        f"its worker is gone; a running leg goes on to `{FAIL_METHOD}`",
        new_leg=True,
    ),
    Verb("fire", _from([S.DEFERRED], S.SCHEDULED), Fence.CLAIM, "triggerer", "its trigger yielded an event"),
    Verb(
        "fire_due",
        _from([S.DEFERRED], S.SCHEDULED, S.SUCCESS),
        Fence.DATE,
        "scheduler",
        "it waits for a date and the date has come",
    ),
    Verb(
        "end",
        _from([S.DEFERRED], S.SUCCESS, S.SKIPPED, S.SCHEDULED),
        Fence.CLAIM,
        "triggerer",
        f"its trigger yielded the end of the task; a failure goes on to `{FAIL_METHOD}`",
    ),
    Verb(
        "crash",
        _from([S.DEFERRED], S.SCHEDULED),
        Fence.CLAIM,
        "triggerer",
        f"its trigger raised or ended without an event; goes on to `{FAIL_METHOD}`",
    ),
    Verb(
        "lapse",
        _from([S.DEFERRED], S.SCHEDULED),
        Fence.DATE,
        "scheduler",
        f"the wait took too long; goes on to `{FAIL_METHOD}`",
    ),
    Verb("fire_by_hand", _from([S.DEFERRED], S.SCHEDULED, S.SUCCESS), Fence.WAIT, "person", "it shall go on now"),
    Verb("fail_by_hand", _from([S.DEFERRED], S.SCHEDULED), Fence.WAIT, "person", f"goes on to `{FAIL_METHOD}`"),
    Verb("extend", _from([S.DEFERRED], S.DEFERRED), Fence.WAIT, "person", "its timeout shall come later"),
    Verb("cancel", _from([S.DEFERRED], *_MARKS), Fence.WAIT, "person", "it shall wait no longer and count as done"),
    Verb(
        "wake",
        _from([S.UP_FOR_RETRY, S.UP_FOR_RESCHEDULE], S.SCHEDULED),
        Fence.DATE,
        "scheduler",
        "the date of the next try or look has come",
    ),
    Verb(
        "clear",
        _from([S.SCHEDULED, S.QUEUED, S.DEFERRED, S.UP_FOR_RETRY, S.UP_FOR_RESCHEDULE], S.NONE)
        | _from([S.RUNNING, S.SHUTDOWN, *TERMINAL], S.RESTARTING),
        Fence.STATE,
        "person",
        "it shall run afresh",
        new_leg=True,
    ),
    Verb(
        "mark",
        {state: frozenset(_MARKS) - {state} for state in TaskState},
        Fence.STATE,
        "person",
        "it shall count as done; stops what runs or waits",
        new_leg=True,
    ),
    Verb(
        "stop",
        _from(UNFINISHED, S.SKIPPED),
        Fence.EPOCH,
        "scheduler",
        "its run timed out, or failed fast",
        new_leg=True,
    ),
    Verb(
        "remove",
        _from(UNFINISHED, S.REMOVED),
        Fence.STATE,
        "scheduler",
        "it is no longer in the DAG",
        new_leg=True,
    ),
)


RUN_VERBS: tuple[RunVerb, ...] = (
    RunVerb("begin", _from([R.QUEUED], R.RUNNING), Fence.TURN, "scheduler", "the DAG may have one more active run"),
    RunVerb(
        "conclude",
        _from([R.RUNNING], R.SUCCESS, R.FAILED),
        Fence.EPOCH,
        "scheduler",
        "every task is terminal; failed if a leaf failed",
    ),
    RunVerb(
        "expire",
        _from([R.RUNNING], R.FAILED),
        Fence.EPOCH,
        "scheduler",
        "it took longer than `dagrun_timeout`, and its tasks have been stopped",
    ),
    RunVerb(
        "reopen",
        _from([R.SUCCESS, R.FAILED], R.QUEUED),
        Fence.STATE,
        "person",
        "one of its tasks was cleared or marked",
    ),
    RunVerb(
        "mark_run",
        _from([R.QUEUED, R.RUNNING], R.SUCCESS, R.FAILED),
        Fence.EPOCH,
        "person",
        "it shall count as done, and its tasks have been marked",
    ),
)


@dataclass(frozen=True)
class HolderVerb:
    """A verb that moves no state: who holds a wait, that a process lives, that a run comes to be."""

    name: str
    subject: str
    fence: Fence
    by: str
    when: str


HOLDER_VERBS: tuple[HolderVerb, ...] = (
    HolderVerb("launch", "run", Fence.STATE, "scheduler, person", "it is due or asked for, and not there yet"),
    HolderVerb("adopt", "run", Fence.STATE, "scheduler", "its DAG has a newer version; epoch + 1"),
    HolderVerb("expand", "run", Fence.EPOCH, "scheduler", "it is known over how many elements a task is mapped"),
    HolderVerb("claim", "wait", Fence.STATE, "triggerer", "nobody holds it; claim + 1"),
    HolderVerb("release", "wait", Fence.CLAIM, "triggerer", "it is handed over; claim + 1"),
    HolderVerb("release_all", "wait", Fence.STATE, "triggerer", "the triggerer leaves; claim + 1"),
    HolderVerb("orphan", "wait", Fence.DEAD_OWNER, "anybody", "its triggerer is gone; claim + 1"),
    HolderVerb("park", "wait", Fence.CLAIM, "triggerer", "its code or its key is not there; claim + 1"),
    HolderVerb("unpark", "wait", Fence.DATE, "anybody", "time to try a parked wait again"),
    HolderVerb("sweep", "wait", Fence.DATE, "scheduler", "nothing waits for it"),
    HolderVerb("take_kill", "kill", Fence.STATE, "triggerer", "an `on_kill` is asked for; claim + 1"),
    HolderVerb("acknowledge", "kill", Fence.CLAIM, "triggerer", "its `on_kill` has run"),
    HolderVerb("give_up", "kill", Fence.DATE, "scheduler", "its `on_kill` did not run in time"),
    HolderVerb("take_callback", "callback", Fence.STATE, "worker", "it is to be called and nobody has it; claim + 1"),
    HolderVerb("end_callback", "callback", Fence.CLAIM, "worker", "it was called"),
    HolderVerb(
        "free_callback", "callback", Fence.DEAD_OWNER, "scheduler", "its worker is gone or says nothing; claim + 1"
    ),
    HolderVerb("register", "job", Fence.STATE, "every process", "a process begins"),
    HolderVerb("beat", "job", Fence.STATE, "every process", "it is alive; refused once it was buried"),
    HolderVerb("retire", "job", Fence.STATE, "every process", "it leaves in order"),
    HolderVerb("suspect", "job", Fence.DATE, "anybody", "its heartbeat is late or its lock was freed"),
    HolderVerb("bury", "job", Fence.DATE, "anybody", "it stayed silent for too long after that"),
)

VERBS: Mapping[str, Verb] = {verb.name: verb for verb in TASK_VERBS}
