"""Every verb about waits, calls of on_kill and processes × everything that they can be × right, stale, future claim."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, get_args

import pytest

from bide.model.states import TaskState
from bide.model.transitions import HOLDER_VERBS
from bide.store import holding, jobs
from bide.store.database import Database
from tests.store.picture import Difference, differences, picture
from tests.store.scene import ALWAYS, NOW, TICK, Holder, Placed, Row, Scene, Wait

WHO, WHY = "matrix", "because"
MANY = 1_000_000
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Case:
    """A wait or a call of on_kill, and how far off the caller's claim is."""

    row: Row
    offset: int

    @property
    def holder(self) -> str:
        assert self.row.wait
        return self.row.wait.holder

    @property
    def due(self) -> bool:
        return self.row.wait is not None and self.row.wait.due

    @property
    def taken(self) -> bool:
        return bool(self.row.kill_columns["taken"])


@dataclass(frozen=True)
class Said:
    """How a verb is said about a batch, and which cases it must change."""

    say: Callable[[Database, Scene, Sequence[tuple[Case, Placed]]], Awaitable[Sequence[Any]]]
    expected: Callable[[Case], bool]


def _claims(given: Sequence[tuple[Case, Placed]]) -> list[holding.Claim]:
    return [holding.Claim(one.trigger_id or 0, one.claim + case.offset) for case, one in given]


def _parked(given: Sequence[tuple[Case, Placed]]) -> list[holding.Parked]:
    return [holding.Parked(claim.id, claim.claim, WHY, HOUR) for claim in _claims(given)]


ABOUT_WAITS: Mapping[str, Said] = {
    "claim": Said(
        lambda db, scene, given: holding.claim(db, WHO, scene.triggerer, [""], MANY),
        lambda case: case.holder == "nobody",
    ),
    "release": Said(
        lambda db, scene, given: holding.release(db, WHO, scene.triggerer, _claims(given), WHY),
        lambda case: case.holder == "triggerer" and case.offset == 0,
    ),
    "release_all": Said(
        lambda db, scene, given: holding.release_all(db, WHO, scene.triggerer, WHY),
        lambda case: case.holder == "triggerer",
    ),
    "orphan": Said(
        lambda db, scene, given: holding.orphan(db, WHO, MANY), lambda case: case.holder == "dead triggerer"
    ),
    "park": Said(
        lambda db, scene, given: holding.park(db, WHO, _parked(given)),
        lambda case: case.holder in ("triggerer", "dead triggerer") and case.offset == 0,
    ),
    "unpark": Said(
        lambda db, scene, given: holding.unpark(db, WHO, MANY), lambda case: case.holder == "parked" and case.due
    ),
    # Something waits for each of them.
    "sweep": Said(lambda db, scene, given: holding.sweep(db, WHO, 0, timedelta(0), MANY), lambda case: False),
}
WAITS = [
    Case(Row(TaskState.DEFERRED, "resume", wait=Wait(holder, due=due, shared_key=None)), offset)
    for holder in get_args(Holder)
    for due in (True, False)
    for offset in (0, -1, 1)
]


async def test_a_verb_about_waits_changes_those_that_it_may_and_nothing_else(db: Database, scene: Scene) -> None:
    for name, said in ABOUT_WAITS.items():
        await scene.connection.execute("truncate dag_run, task_instance, trigger, history cascade")
        changes, expected, answer = await _say(db, scene, WAITS, said)
        assert sorted(row.id for row in answer) == sorted(expected), name
        assert {change.table for change in changes} <= {"trigger", "history"}
        later = {change.row["id"]: change.row for change in changes if change.table == "trigger" and change.later}
        assert later.keys() == expected.keys()
        grows = name != "unpark"
        assert all(later[wait]["claim"] == one.claim + grows for wait, (_, one) in expected.items())
        _check_history(name, changes, "trigger_id", expected)
    print(f"{len(ABOUT_WAITS) * len(WAITS)} cases")


ABOUT_KILLS: Mapping[str, Said] = {
    "take_kill": Said(
        lambda db, scene, given: holding.take_kill(db, WHO, scene.triggerer, [""], MANY),
        # One that it has taken already it is about to answer; one that another living process holds is not its own.
        lambda case: case.row.columns["task_id"] != "alive" or not case.taken,
    ),
    "acknowledge": Said(
        lambda db, scene, given: holding.acknowledge(db, WHO, _claims(given)),
        lambda case: case.taken and case.offset == 0,
    ),
    "give_up": Said(
        lambda db, scene, given: holding.give_up(db, WHO, MANY), lambda case: case.row.kill_columns["deadline"] == NOW
    ),
}


def _kills(scene: Scene) -> list[Case]:
    holders = {"nobody": None, "alive": scene.triggerer, "dead": scene.dead_triggerer}
    return [
        Case(
            Row(
                TaskState.SCHEDULED,
                kill=True,
                columns={"task_id": name},
                kill_columns={"triggerer_id": holder, "taken": taken, "deadline": deadline},
            ),
            offset,
        )
        for name, holder in holders.items()
        for taken in (True, False)
        for deadline in (NOW, NOW + TICK)
        for offset in (0, -1, 1)
    ]


async def test_a_verb_about_kills_changes_those_that_it_may_and_nothing_else(db: Database, scene: Scene) -> None:
    cases = _kills(scene)
    for name, said in ABOUT_KILLS.items():
        await scene.connection.execute("truncate dag_run, task_instance, kill, history cascade")
        changes, expected, answer = await _say(db, scene, cases, said)
        assert sorted(row.trigger_id for row in answer) == sorted(expected), name
        assert {change.table for change in changes} <= {"kill", "history"}
        touched = {change.row["trigger_id"] for change in changes if change.table == "kill"}
        assert touched == expected.keys()
        left = {change.row["trigger_id"] for change in changes if change.table == "kill" and change.later}
        assert left == (expected.keys() if name == "take_kill" else set())
        _check_history(name, changes, "trigger_id", expected)
    print(f"{len(ABOUT_KILLS) * len(cases)} cases")


async def _say(
    db: Database, scene: Scene, cases: Sequence[Case], said: Said
) -> tuple[list[Difference], dict[int, tuple[Case, Placed]], Sequence[Any]]:
    """Say a verb about all cases, each of them twice, and return what changed, what was expected, and the answer."""
    placed = await scene.place([case.row for case in cases])
    given = list(zip(cases, placed, strict=True))
    before = await picture(scene.connection)
    answer = await said.say(db, scene, [*given, *reversed(given)])
    changes = differences(before, await picture(scene.connection))
    return changes, {one.trigger_id or 0: (case, one) for case, one in given if said.expected(case)}, answer


def _check_history(name: str, changes: Sequence[Difference], key: str, expected: Mapping[int, object]) -> None:
    entries = [change for change in changes if change.table == "history"]
    assert all(entry.later and entry.row["verb"] == name and entry.row["who"] == WHO for entry in entries)
    assert Counter(entry.row[key] for entry in entries) == Counter(dict.fromkeys(expected, 1))


async def _beat(db: Database, job: int) -> list[int]:
    return [job] if await jobs.beat(db, job) else []


async def _retire(db: Database, job: int) -> list[int]:
    return [job] if await jobs.retire(db, WHO, job) else []


async def _suspect(db: Database, job: int) -> list[int]:
    return await jobs.suspect(db, WHO)


async def _bury(db: Database, job: int) -> list[int]:
    return [row.id for row in await jobs.bury(db, WHO, GRACE, ALWAYS)]


OVERDUE = timedelta(seconds=10.5)  # 2.1 heartbeats of 5 s
GRACE = timedelta(seconds=2)
JOBS = [
    (state, silent, suspected, locked)
    for state in ("running", "success", "failed")
    for silent in (timedelta(0), OVERDUE, OVERDUE + TICK)
    for suspected in (None, GRACE - TICK, GRACE)
    if state == "running" or suspected is None
    for locked in (True, False)
]
ABOUT_JOBS: Mapping[str, tuple[Callable[[Database, int], Awaitable[list[int]]], Callable[..., bool]]] = {
    "beat": (_beat, lambda silent, suspected, locked: True),
    "retire": (_retire, lambda silent, suspected, locked: True),
    "suspect": (_suspect, lambda silent, suspected, locked: locked and suspected is None),
    "bury": (_bury, lambda silent, suspected, locked: silent > OVERDUE or suspected == GRACE),
}


@pytest.mark.parametrize("name", ABOUT_JOBS)
async def test_a_verb_about_processes_changes_those_that_it_may_and_nothing_else(
    db: Database, scene: Scene, name: str
) -> None:
    say, may = ABOUT_JOBS[name]
    for state, silent, suspected, locked in JOBS:
        await scene.connection.execute("truncate job, history")
        job = await scene.connection.fetchval(
            "insert into job (job_type, state, hostname, start_date, latest_heartbeat, end_date, heartbeat_sec,"
            " suspected_at, holds_lock) values ('WorkerJob', $1, 'host', $2, $3, $4, 5, $5, $6) returning id",
            *(state, NOW - HOUR, NOW - silent, None if state == "running" else NOW),
            *(suspected and NOW - suspected, locked),
        )
        before = await picture(scene.connection)
        answer = await say(db, job)
        changes = differences(before, await picture(scene.connection))
        expected = state == "running" and may(silent, suspected, locked)
        assert answer == ([job] if expected else []), (state, silent, suspected, locked)
        assert {change.table for change in changes} <= {"job", "history"}
        _check_history(name, changes, "job_id", {job: None} if expected and name != "beat" else {})
        assert expected or not changes


def test_no_holder_verb_is_left_out() -> None:
    # `register` and `launch` make something that was not there; there is no state to begin in. Two stand alone.
    # What is about callbacks stands in test_matrix_callbacks.py.
    known = ABOUT_WAITS.keys() | ABOUT_KILLS.keys() | ABOUT_JOBS.keys() | {"register", "launch", "adopt", "expand"}
    assert known == {verb.name for verb in HOLDER_VERBS if verb.subject != "callback"}
