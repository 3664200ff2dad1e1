"""Every verb about callbacks × everything that a callback can be × right, stale and future claim."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from bide.model.plan import Callback
from bide.model.states import TaskState
from bide.model.transitions import HOLDER_VERBS
from bide.store import callbacks
from bide.store.callbacks import EndedCall
from bide.store.database import Database
from tests.store.picture import differences, picture
from tests.store.scene import NOW, TICK, Row, Scene

WHO = "matrix"
MANY = 1_000_000
MINUTE = timedelta(minutes=1)
CLAIM, HOPELESS = 3, 5
STATES = ("pending", "running", "success", "failed")


@dataclass(frozen=True)
class Case:
    """A callback, and how far off the caller's claim is."""

    state: str
    alive: bool = True
    due: bool = False
    queue: str = "default"
    claim: int = CLAIM
    offset: int = 0

    @property
    def columns(self) -> dict[str, Any]:
        """What its row says."""
        ended = self.state in ("success", "failed")
        return {
            "state": self.state,
            "queue": self.queue,
            "claim": self.claim,
            "deadline": (NOW if self.due else NOW + TICK) if self.state == "running" else None,
            "ended_at": NOW - (MINUTE if self.due else MINUTE - TICK) if ended else None,
        }


CASES = [
    Case(state, alive, due, queue, claim, offset)
    for state, alive, due, queue, claim, offset in product(
        STATES, (True, False), (True, False), ("default", "gpu"), (CLAIM, HOPELESS), (0, -1, 1)
    )
]


@dataclass(frozen=True)
class Said:
    """How a verb is said about a batch, which cases it must change, and what they must be then."""

    say: Callable[[Database, Scene, Sequence[tuple[int, Case]]], Awaitable[Sequence[Any]]]
    expected: Callable[[Case], bool]
    becomes: Callable[[Case], tuple[str, int]]


async def _end(db: Database, scene: Scene, given: Sequence[tuple[int, Case]]) -> Sequence[Any]:
    # Those with an even number have failed.
    said = [EndedCall(id, case.claim + case.offset, None if id % 2 else "it broke") for id, case in given]
    return await callbacks.end_callback(db, WHO, said)


VERBS: Mapping[str, Said] = {
    "take_callback": Said(
        lambda db, scene, given: callbacks.take_callback(db, WHO, scene.worker, ["default"], MANY, MINUTE),
        lambda case: case.state == "pending" and case.queue == "default",
        lambda case: ("running", case.claim + 1),
    ),
    "end_callback": Said(
        _end, lambda case: case.state == "running" and case.offset == 0, lambda case: ("", case.claim)
    ),
    "free_callback": Said(
        lambda db, scene, given: callbacks.free_callback(db, WHO, HOPELESS, MANY),
        lambda case: case.state == "running" and (case.due or not case.alive),
        lambda case: ("failed" if case.claim >= HOPELESS else "pending", case.claim + 1),
    ),
}


async def place(scene: Scene, cases: Sequence[Case]) -> list[tuple[int, Case]]:
    """Put callbacks of one task into the database."""
    task = await scene.put(Row(TaskState.FAILED))
    placed = []
    for case in cases:
        columns = {
            **case.columns,
            "task_instance_id": task.id,
            "worker_id": None if case.state == "pending" else scene.worker if case.alive else scene.dead_worker,
            "callback_type": "failure",
            "try_number": 2,
            "reason": "because",
            "created_at": NOW,
        }
        places = ", ".join(f"${place}" for place, _ in enumerate(columns, 1))
        id = await scene.connection.fetchval(
            f"insert into callback ({', '.join(columns)}) values ({places}) returning id", *columns.values()
        )
        placed.append((id, case))
    return placed


@pytest.mark.parametrize("name", VERBS)
async def test_a_verb_about_callbacks_changes_those_that_it_may_and_nothing_else(
    db: Database, scene: Scene, name: str
) -> None:
    said = VERBS[name]
    placed = await place(scene, CASES)
    before = await picture(scene.connection)
    answer = await said.say(db, scene, [*placed, *reversed(placed)])
    changes = differences(before, await picture(scene.connection))
    expected = {id: case for id, case in placed if said.expected(case)}
    assert expected
    assert sorted(row.call.id if name == "take_callback" else row.id for row in answer) == sorted(expected)
    assert {change.table for change in changes} == {"callback", "history"}
    later = {change.row["id"]: change.row for change in changes if change.table == "callback" and change.later}
    assert later.keys() == expected.keys()
    for id, case in expected.items():
        state, claim = said.becomes(case)
        assert (later[id]["state"], later[id]["claim"]) == (state or ("success" if id % 2 else "failed"), claim)
        assert (later[id]["error"] is not None) == (later[id]["state"] == "failed")
    entries = [change.row for change in changes if change.table == "history"]
    assert sorted(entry["callback_id"] for entry in entries) == sorted(expected)
    assert {(entry["verb"], entry["who"]) for entry in entries} == {(name, WHO)}


async def test_a_worker_is_given_all_that_a_call_needs_the_oldest_first_and_a_buried_one_nothing(
    db: Database, scene: Scene
) -> None:
    placed = await place(scene, [Case("pending")] * 3)
    assert await callbacks.take_callback(db, WHO, scene.dead_worker, ["default"], MANY, MINUTE) == []
    taken = await callbacks.take_callback(db, WHO, scene.worker, ["default"], 2, MINUTE)
    assert [one.call.id for one in taken] == [id for id, _ in placed[:2]]
    one = taken[0]
    assert (one.kind, one.of_run, one.reason) == (Callback.FAILURE, False, "because")
    assert (one.started.task_id, one.started.try_number, one.started.dag_id) == ("task", 2, "dag")


async def test_what_is_left_of_calls_is_forgotten_after_a_while(db: Database, scene: Scene) -> None:
    placed = await place(scene, [Case(state, due=due) for state in STATES for due in (True, False)])
    old = [id for id, case in placed if case.columns["ended_at"] == NOW - MINUTE]
    assert len(old) == 2
    assert await callbacks.forget_callbacks(db, MINUTE - TICK, 1) == 1
    assert await callbacks.forget_callbacks(db, MINUTE - TICK, MANY) == 1
    left = {row["id"] for row in await scene.connection.fetch("select id from callback")}
    assert left == {id for id, _ in placed} - set(old)


def test_no_verb_about_callbacks_is_left_out() -> None:
    assert VERBS.keys() == {verb.name for verb in HOLDER_VERBS if verb.subject == "callback"}
