"""Every verb as somebody who was given the rows of a scene would say it. A variant stands behind a colon."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from bide.model.states import RunState, TaskState
from bide.model.transitions import HOLDER_VERBS, RUN_VERBS, VERBS, Fence
from bide.store import by_hand, callbacks, deferral, holding, jobs, legs, people, queueing, runs
from bide.store.database import Database
from bide.store.rows import Leg, XCom
from tests.race.scene import CLAIM, DEAD_TRIGGERER, EPOCH, LEG, TRIGGERER, TURN, VERSION, WORKER, Spot, Subject
from tests.store.scene import ALWAYS

Said = Callable[[Database, str, Sequence[Subject]], Awaitable[object]]

MINUTE = timedelta(minutes=1)
LATER = datetime(2026, 1, 1, 13, tzinfo=UTC)
MANY = 100


def _legs(on: Sequence[Subject]) -> list[Leg]:
    return [Leg(s.task, LEG) for s in on]


def _unstarted(on: Sequence[Subject]) -> list[runs.Unstarted]:
    return [runs.Unstarted(s.task, EPOCH) for s in on]


def _failed(on: Sequence[Subject], rest: timedelta | None) -> list[legs.FailedLeg]:
    return [legs.FailedLeg(s.task, LEG, "running", rest, "raised") for s in on]


def new_wait(s: Subject, shared_key: str | None = None) -> deferral.NewWait:
    return deferral.NewWait(
        id=s.task,
        leg=LEG,
        trigger_id=s.wait + 1,
        classpath="a.T",
        kwargs="sealed",
        next_method="go_on",
        shared_key=shared_key,
        on_kill=True,
    )


def _seen(on: Sequence[Subject]) -> list[by_hand.SeenWait]:
    return [by_hand.SeenWait(s.task, s.wait) for s in on]


def _claims(on: Sequence[Subject]) -> list[holding.Claim]:
    return [holding.Claim(s.wait, CLAIM) for s in on]


def _ended(on: Sequence[Subject]) -> list[deferral.Ended]:
    return [deferral.Ended(s.wait, CLAIM, "success") for s in on]


def _pictures(on: Sequence[Subject]) -> list[runs.Picture]:
    return [runs.Picture(s.run, EPOCH) for s in on]


def _tasks(on: Sequence[Subject]) -> list[int]:
    return [s.task for s in on]


def _neighbours(on: Sequence[Subject]) -> list[int]:
    return [s.neighbour for s in on]


async def _beat(db: Database, who: str, on: Sequence[Subject]) -> list[int]:
    return [s.job for s in on if await jobs.beat(db, s.job)]


async def _retire(db: Database, who: str, on: Sequence[Subject]) -> list[int]:
    return [s.job for s in on if await jobs.retire(db, who, s.job)]


ABOUT_TASKS: Mapping[str, Said] = {
    "ready": lambda db, who, on: runs.ready(db, who, _unstarted(on)),
    "block": lambda db, who, on: runs.block(db, who, _unstarted(on)),
    "skip_unstarted": lambda db, who, on: runs.skip_unstarted(db, who, _unstarted(on)),
    "pass_empty": lambda db, who, on: runs.pass_empty(db, who, _unstarted(on)),
    "enqueue": lambda db, who, on: queueing.enqueue(db, who, TURN, _legs(on)),
    "defer_at_start": lambda db, who, on: deferral.defer_at_start(db, who, TURN, [new_wait(s) for s in on]),
    "unqueue": lambda db, who, on: queueing.unqueue(db, who, [queueing.Refused(s.task, LEG, "full") for s in on]),
    "start": lambda db, who, on: legs.start(db, who, WORKER, _legs(on)),
    "succeed": lambda db, who, on: legs.succeed(db, who, _legs(on), [XCom(s.task, LEG, "x", "1") for s in on]),
    "skip": lambda db, who, on: legs.skip(db, who, [legs.SkippedLeg(s.task, LEG, "nothing to do") for s in on]),
    "fail": lambda db, who, on: legs.fail(db, who, _failed(on, rest=None)),
    "fail:tries again": lambda db, who, on: legs.fail(db, who, _failed(on, rest=MINUTE)),
    "fail:in the wait": lambda db, who, on: legs.fail(
        db, who, [legs.FailedLeg(s.task, LEG, "scheduled", None, "lapsed") for s in on]
    ),
    "skip:in the wait": lambda db, who, on: legs.skip(
        db, who, [legs.SkippedLeg(s.task, LEG, "lapsed", "scheduled") for s in on]
    ),
    "reschedule": lambda db, who, on: legs.reschedule(
        db, who, [legs.RescheduledLeg(s.task, LEG, after=MINUTE) for s in on]
    ),
    "defer": lambda db, who, on: deferral.defer(db, who, [new_wait(s) for s in on]),
    "drain": lambda db, who, on: legs.drain(db, who, _legs(on)),
    "stopped": lambda db, who, on: legs.stopped(db, who, _legs(on)),
    "rescue": lambda db, who, on: legs.rescue(db, who, MANY),
    "fire": lambda db, who, on: deferral.fire(db, who, [deferral.Fired(s.wait, CLAIM, "2") for s in on]),
    "fire_due": lambda db, who, on: deferral.fire_due(db, who, MANY),
    "end": lambda db, who, on: deferral.end(db, who, _ended(on), [XCom(s.wait, CLAIM, "x", "1") for s in on]),
    "end:failed": lambda db, who, on: deferral.end(
        db, who, [deferral.Ended(s.wait, CLAIM, "scheduled", '{"error": "e"}', "e") for s in on]
    ),
    "crash": lambda db, who, on: deferral.crash(
        db, who, [deferral.Crashed(s.wait, CLAIM, '{"error": "e"}', "e") for s in on]
    ),
    "lapse": lambda db, who, on: deferral.lapse(db, who, MINUTE, MANY),
    "fire_by_hand": lambda db, who, on: by_hand.fire_by_hand(db, who, _seen(on), "2"),
    "fire_by_hand:no event": lambda db, who, on: by_hand.fire_by_hand(db, who, _seen(on), None),
    "fail_by_hand": lambda db, who, on: by_hand.fail_by_hand(db, who, MINUTE, _seen(on), '{"error": "e"}', "e"),
    "extend": lambda db, who, on: by_hand.extend(db, who, [by_hand.ExtendedWait(s.task, s.wait, LATER) for s in on]),
    "cancel": lambda db, who, on: by_hand.cancel(db, who, MINUTE, _seen(on), TaskState.SKIPPED),
    "wake": lambda db, who, on: queueing.wake(db, who, MANY),
    "clear": lambda db, who, on: people.clear(db, who, MINUTE, _tasks(on)),
    "mark": lambda db, who, on: people.mark(db, who, MINUTE, _tasks(on), TaskState.SUCCESS),
    "mark:failed": lambda db, who, on: people.mark(db, who, MINUTE, _tasks(on), TaskState.FAILED),
    "stop": lambda db, who, on: people.stop(db, who, MINUTE, _unstarted(on), "run_timed_out"),
    "remove": lambda db, who, on: people.remove(db, who, MINUTE, _tasks(on)),
}

ABOUT_WAITS: Mapping[str, Said] = {
    "claim": lambda db, who, on: holding.claim(db, who, TRIGGERER, [""], MANY),
    "release": lambda db, who, on: holding.release(db, who, DEAD_TRIGGERER, _claims(on), "leaves"),
    "release_all": lambda db, who, on: holding.release_all(db, who, DEAD_TRIGGERER, "leaves"),
    "orphan": lambda db, who, on: holding.orphan(db, who, MANY),
    "park": lambda db, who, on: holding.park(db, who, [holding.Parked(s.wait, CLAIM, "no code", MINUTE) for s in on]),
    "unpark": lambda db, who, on: holding.unpark(db, who, MANY),
    "sweep": lambda db, who, on: holding.sweep(db, who, 0, MINUTE, MANY),
    "reseal": lambda db, who, on: holding.reseal(db, [holding.Resealed(s.wait, "sealed", "anew") for s in on]),
}

ABOUT_KILLS: Mapping[str, Said] = {
    "take_kill": lambda db, who, on: holding.take_kill(db, who, TRIGGERER, [""], MANY),
    "acknowledge": lambda db, who, on: holding.acknowledge(db, who, _claims(on)),
    "give_up": lambda db, who, on: holding.give_up(db, who, MANY),
}

ABOUT_CALLBACKS: Mapping[str, Said] = {
    "take_callback": lambda db, who, on: callbacks.take_callback(db, who, WORKER, ["default"], MANY, MINUTE),
    "end_callback": lambda db, who, on: callbacks.end_callback(
        db, who, [callbacks.EndedCall(s.wait, CLAIM, None) for s in on]
    ),
    "free_callback": lambda db, who, on: callbacks.free_callback(db, who, MANY, MANY),
}

ABOUT_RUNS: Mapping[str, Said] = {
    "begin": lambda db, who, on: runs.begin(db, who, TURN, [s.run for s in on]),
    "conclude": lambda db, who, on: runs.conclude(
        db, who, [runs.Concluded(s.run, EPOCH, RunState.SUCCESS) for s in on]
    ),
    "expire": lambda db, who, on: runs.expire(db, who, _pictures(on)),
    "adopt": lambda db, who, on: runs.adopt(db, who, [s.run for s in on], VERSION, None, []),
    "mark_run": lambda db, who, on: runs.mark_run(db, who, _pictures(on), RunState.FAILED, "enough"),
}

ABOUT_MAPPED: Mapping[str, Said] = {
    "expand": lambda db, who, on: runs.expand(db, who, [runs.Expansion(s.task, EPOCH, 1) for s in on]),
}

ABOUT_NEIGHBOURS: Mapping[str, Said] = {
    "clear:neighbour": lambda db, who, on: people.clear(db, who, MINUTE, _neighbours(on)),
    "mark:neighbour": lambda db, who, on: people.mark(db, who, MINUTE, _neighbours(on), TaskState.FAILED),
}

ABOUT_JOBS: Mapping[str, Said] = {
    "beat": _beat,
    "retire": _retire,
    "suspect": lambda db, who, on: jobs.suspect(db, who),
    "bury": lambda db, who, on: jobs.bury(db, who, MINUTE, ALWAYS),
}

_EPOCH_FENCED = {word: said for word, said in ABOUT_TASKS.items() if VERBS[word.partition(":")[0]].fence is Fence.EPOCH}
_BY_KIND: Mapping[str, Mapping[str, Said]] = {
    "task": {**ABOUT_TASKS, **ABOUT_WAITS},
    "wait": ABOUT_WAITS,
    "kill": ABOUT_KILLS,
    "callback": ABOUT_CALLBACKS,
    "run": {**ABOUT_RUNS, **ABOUT_NEIGHBOURS},
    "epoch": {**_EPOCH_FENCED, **ABOUT_MAPPED, **ABOUT_NEIGHBOURS},
    "job": ABOUT_JOBS,
}
WORDS: Mapping[str, Said] = {word: said for group in _BY_KIND.values() for word, said in group.items()}

# Verbs of the table that leave no row for a second one to meet, or are part of another verb's statement.
ALONE = {"register", "launch", "reopen"}
_CLAIM_GROWS_OR_GOES = {"claim", "release", "release_all", "orphan", "park", *ABOUT_KILLS, *ABOUT_CALLBACKS}
_FENCES: Mapping[str, Fence] = {
    **{verb.name: verb.fence for verb in VERBS.values()},
    **{verb.name: verb.fence for verb in HOLDER_VERBS},
    **{verb.name: verb.fence for verb in RUN_VERBS},
}


def verb_of(word: str) -> str:
    return word.partition(":")[0]


def candidates(spot: Spot) -> Mapping[str, Said]:
    """Return what may have something to say about the rows of a spot."""
    return _BY_KIND[spot.kind]


def apart(first: str, second: str) -> bool:
    """Tell whether two words change different rows: a timeout stands at the task, the holder at the wait."""
    return (first == "extend" and second in ABOUT_WAITS) or (second == "extend" and first in ABOUT_WAITS)


def outdates(first: str, second: str) -> bool:
    """Tell whether, by the table, the first verb takes the fence of the second one away."""
    before, after = verb_of(first), verb_of(second)
    match _FENCES.get(after):
        case Fence.LEG if after != "stopped":
            return before in VERBS and VERBS[before].new_leg
        case Fence.CLAIM:
            return before in _CLAIM_GROWS_OR_GOES or _ends_waits(before)
        case Fence.WAIT:
            return _ends_waits(before)
        case Fence.TURN:
            return _FENCES.get(before) is Fence.TURN
        case Fence.EPOCH:
            return before in ("clear", "mark", "adopt")
    return False


def _ends_waits(verb: str) -> bool:
    return verb in VERBS and VERBS[verb].moves.get(TaskState.DEFERRED, frozenset()) != frozenset({TaskState.DEFERRED})
