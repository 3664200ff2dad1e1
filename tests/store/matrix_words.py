"""How each task verb is said about a batch of cases."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from bide.model.states import TaskState
from bide.store import by_hand, deferral, legs, people, queueing, runs, views
from bide.store.database import Database
from bide.store.rows import Leg
from tests.store.matrix import Case
from tests.store.scene import NOW, PATIENCE, Placed, Scene

Given = Sequence[tuple[Case, Placed]]
WHO, WHY = "matrix", "because"
MANY = 1_000_000
HOUR = timedelta(hours=1)
S = TaskState


async def say(db: Database, scene: Scene, given: Given) -> list[Any]:
    """Say the word of these cases, which must be one word about one turn, and return the answer."""
    verb, to = given[0][0].word.verb.name, given[0][0].word.to
    if verb in FOUND:
        return list(await FOUND[verb](db))
    if verb in PEOPLE:
        return list(await PEOPLE[verb](db, given, to))
    if verb in IN_TURN:
        turn = await views.current_turn(db) + given[0][0].turn_offset
        return list(await IN_TURN[verb](db, given, turn))
    if verb == "start":
        return list(await legs.start(db, WHO, scene.worker, _legs(given)))
    return list(await FENCED[verb](db, given, to))


def _legs(given: Given) -> list[Leg]:
    return [Leg(one.id, one.leg + case.offset) for case, one in given]


def _children(given: Given) -> list[Leg]:
    return [Leg(one.id, (one.child_leg or one.leg) + case.offset) for case, one in given]


def _unstarted(given: Given) -> list[runs.Unstarted]:
    return [runs.Unstarted(one.id, one.epoch + case.offset) for case, one in given]


def _claims(given: Given) -> list[tuple[int, int]]:
    # Whoever has no wait is spoken of by a number that no wait has.
    return [(one.trigger_id or -one.id, one.claim + case.offset) for case, one in given]


def _waits(given: Given) -> list[deferral.NewWait]:
    return [
        deferral.NewWait(
            id=one.id,
            leg=one.leg + case.offset,
            trigger_id=MANY + one.id,
            classpath="package.Trigger",
            kwargs="sealed",
            next_method="resume",
            shared_key=f"new {one.id}",
        )
        for case, one in given
    ]


def _seen(given: Given) -> list[by_hand.SeenWait]:
    return [by_hand.SeenWait(one.id, (one.trigger_id or -one.id) + case.offset) for case, one in given]


def _failed(given: Given, rest: timedelta | None) -> list[legs.FailedLeg]:
    return [legs.FailedLeg(one.id, one.leg + case.offset, _left(case), rest, WHY) for case, one in given]


def _left(case: Case) -> Literal["running", "scheduled"]:
    return "scheduled" if case.row.state == S.SCHEDULED else "running"


FENCED: Mapping[str, Callable[[Database, Given, TaskState | None], Awaitable[Sequence[Any]]]] = {
    "ready": lambda db, given, to: runs.ready(db, WHO, _unstarted(given)),
    "block": lambda db, given, to: runs.block(db, WHO, _unstarted(given)),
    "skip_unstarted": lambda db, given, to: runs.skip_unstarted(db, WHO, _unstarted(given)),
    "pass_empty": lambda db, given, to: runs.pass_empty(db, WHO, _unstarted(given)),
    "stop": lambda db, given, to: people.stop(db, WHO, PATIENCE, _unstarted(given), "run_timed_out"),
    "unqueue": lambda db, given, to: queueing.unqueue(
        db, WHO, [queueing.Refused(leg.id, leg.leg, WHY) for leg in _legs(given)]
    ),
    "succeed": lambda db, given, to: legs.succeed(db, WHO, _legs(given)),
    "skip": lambda db, given, to: legs.skip(
        db, WHO, [legs.SkippedLeg(one.id, one.leg + case.offset, WHY, _left(case)) for case, one in given]
    ),
    "fail": lambda db, given, to: legs.fail(db, WHO, _failed(given, HOUR if to == S.UP_FOR_RETRY else None)),
    "reschedule": lambda db, given, to: legs.reschedule(
        db, WHO, [legs.RescheduledLeg(leg.id, leg.leg, after=HOUR) for leg in _legs(given)]
    ),
    "defer": lambda db, given, to: deferral.defer(db, WHO, _waits(given)),
    "drain": lambda db, given, to: legs.drain(db, WHO, _legs(given)),
    "stopped": lambda db, given, to: legs.stopped(db, WHO, _children(given)),
    "fire": lambda db, given, to: deferral.fire(db, WHO, [deferral.Fired(*claim, "2") for claim in _claims(given)]),
    "end": lambda db, given, to: deferral.end(
        db,
        WHO,
        [deferral.Ended(*claim, str(to), '{"error": "e"}', WHY) for claim in _claims(given)],  # type: ignore[arg-type]
    ),
    "crash": lambda db, given, to: deferral.crash(
        db, WHO, [deferral.Crashed(*claim, '{"error": "e"}', WHY) for claim in _claims(given)]
    ),
    "fire_by_hand": lambda db, given, to: by_hand.fire_by_hand(db, WHO, _seen(given), None if to is None else "2", WHY),
    "fail_by_hand": lambda db, given, to: by_hand.fail_by_hand(db, WHO, PATIENCE, _seen(given), '{"error": "e"}', WHY),
    "cancel": lambda db, given, to: by_hand.cancel(db, WHO, PATIENCE, _seen(given), to or S.SUCCESS, WHY),
    "extend": lambda db, given, to: by_hand.extend(
        db, WHO, [by_hand.ExtendedWait(seen.id, seen.trigger_id, NOW + HOUR) for seen in _seen(given)], WHY
    ),
}

IN_TURN: Mapping[str, Callable[[Database, Given, int], Awaitable[Sequence[Any]]]] = {
    "enqueue": lambda db, given, turn: queueing.enqueue(db, WHO, turn, _legs(given)),
    "defer_at_start": lambda db, given, turn: deferral.defer_at_start(db, WHO, turn, _waits(given)),
}

FOUND: Mapping[str, Callable[[Database], Awaitable[Sequence[Any]]]] = {
    "fire_due": lambda db: deferral.fire_due(db, WHO, MANY),
    "lapse": lambda db: deferral.lapse(db, WHO, PATIENCE, MANY),
    "wake": lambda db: queueing.wake(db, WHO, MANY),
    "rescue": lambda db: legs.rescue(db, WHO, MANY),
}

PEOPLE: Mapping[str, Callable[[Database, Given, TaskState | None], Awaitable[Sequence[Any]]]] = {
    "clear": lambda db, given, to: people.clear(db, WHO, PATIENCE, [one.id for _, one in given], WHY),
    "mark": lambda db, given, to: people.mark(db, WHO, PATIENCE, [one.id for _, one in given], to or S.SUCCESS, WHY),
    "remove": lambda db, given, to: people.remove(db, WHO, PATIENCE, [one.id for _, one in given]),
}

BY_HAND = ("fire_by_hand", "fail_by_hand", "cancel")
SAYS_WHY = frozenset({"unqueue", "skip", "fail", "end", "crash", "clear", "mark", *BY_HAND})
"""Verbs whose caller says why, in these words."""
