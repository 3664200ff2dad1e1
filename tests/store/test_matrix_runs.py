"""Every verb about runs × every state, with tasks that are done or not, in time or not × right, stale, future fence."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bide.model.states import RunState, TaskState
from bide.model.transitions import RUN_VERBS, Fence
from bide.store import runs, views
from bide.store.database import Database
from tests.store.picture import differences, picture
from tests.store.scene import NOW, TICK, Placed, Row, Scene

WHO, WHY = "matrix", "because"
FENCE = {verb.name: verb.fence for verb in RUN_VERBS}
R = RunState
TIMEOUTS = (None, NOW, NOW + TICK)


@dataclass(frozen=True)
class Case:
    """A run, and how far off the number is that the caller holds against it."""

    run: RunState
    task: TaskState
    timeout_at: datetime | None
    offset: int

    @property
    def row(self) -> Row:
        return Row(self.task, run=self.run, run_columns={"timeout_at": self.timeout_at})

    def ends(self, verb: str, to: RunState) -> bool:
        """Tell from the table, and from what it says in words, whether the verb must lead there."""
        allowed = next(v.moves.get(self.run, frozenset()) for v in RUN_VERBS if v.name == verb)
        return to in allowed and self.offset == 0 and NEEDS[verb](self)

    @property
    def done(self) -> bool:
        return self.task == TaskState.SUCCESS

    @property
    def out_of_time(self) -> bool:
        return self.timeout_at == NOW


NEEDS: Mapping[str, Callable[[Case], bool]] = {
    "begin": lambda case: True,
    "conclude": lambda case: case.done and not case.out_of_time,
    "expire": lambda case: case.done and case.out_of_time,
    "mark_run": lambda case: case.done,
}
CASES = [
    Case(run, task, timeout_at, offset)
    for offset in (-1, 1, 0)
    for run in RunState
    for task in (TaskState.SUCCESS, TaskState.RUNNING, TaskState.RESTARTING)
    for timeout_at in TIMEOUTS
]
Given = Sequence[tuple[Case, Placed]]


def _pictures(given: Given) -> list[runs.Picture]:
    return [runs.Picture(one.run, one.epoch + case.offset) for case, one in given]


def _concluded(given: Given, to: RunState) -> list[runs.Concluded]:
    return [runs.Concluded(one.run, one.epoch + case.offset, to) for case, one in given]


async def _begin(db: Database, given: Given, to: RunState) -> list[Any]:
    turn = await views.current_turn(db)
    answers = []
    for offset in (-1, 1, 0):
        ids = [one.run for case, one in given if case.offset == offset]
        answers += await runs.begin(db, WHO, turn + offset, ids)
    return answers


SAY: Mapping[str, Callable[[Database, Given, RunState], Awaitable[list[Any]]]] = {
    "begin": _begin,
    "conclude": lambda db, given, to: runs.conclude(db, WHO, _concluded(given, to)),
    "expire": lambda db, given, to: runs.expire(db, WHO, _pictures(given)),
    "mark_run": lambda db, given, to: runs.mark_run(db, WHO, _pictures(given), to, WHY),
}


async def test_a_verb_changes_the_runs_that_the_table_allows_and_nothing_else(db: Database, scene: Scene) -> None:
    said = [(name, to) for name, to in _words() if name != "reopen"]
    for name, to in said:
        await scene.connection.execute("truncate dag_run, task_instance, history, look cascade")
        placed = await scene.place([case.row for case in CASES])
        given = list(zip(CASES, placed, strict=True))
        await _check(db, scene, given, name, to)
    print(f"{len(said) * len(CASES)} cases")


def _words() -> list[tuple[str, RunState]]:
    return [
        (verb.name, to) for verb in RUN_VERBS for to in sorted({end for ends in verb.moves.values() for end in ends})
    ]


async def _check(db: Database, scene: Scene, given: Given, name: str, to: RunState) -> None:
    before = await picture(scene.connection)
    answer = await SAY[name](db, [*given, *reversed(given)], to)
    changes = differences(before, await picture(scene.connection))
    expected = {one.run: case for case, one in given if case.ends(name, to)}
    assert expected, f"no case lets {name} lead to {to}"
    assert sorted(row.id for row in answer) == sorted(expected)
    assert {row.state for row in answer} == {to}
    for change in changes:
        match change.table:
            case "history":
                case = expected[change.row["dag_run_id"]]
                entry = change.row
                assert (entry["verb"], entry["from_state"], entry["to_state"]) == (name, case.run, to)
                assert (entry["who"], change.later) == (WHO, True)
            case "dag_run":
                assert change.row["id"] in expected
            case "turn":
                assert FENCE[name] == Fence.TURN
            case "look":
                assert (name, change.row["task_id"], change.later) == ("begin", None, True)
                assert change.row["dag_run_id"] in expected
            case table:
                raise AssertionError(f"{name} has changed {table}")
    assert sum(change.table == "look" for change in changes) == (len(expected) if name == "begin" else 0)
    assert sum(change.table == "history" for change in changes) == len(expected)
    assert sum(change.table == "dag_run" and change.later for change in changes) == len(expected)


def test_no_run_verb_is_left_out() -> None:
    # `reopen` is a part of `clear` and `mark`, and is checked with them.
    assert SAY.keys() | {"reopen"} == {verb.name for verb in RUN_VERBS}
