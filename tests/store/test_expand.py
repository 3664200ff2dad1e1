"""A mapped task gets as many instances as it has elements, if nobody has rewritten the past of its run since."""

from dataclasses import replace

import pytest

from bide.model.states import RunState, TaskState
from bide.store import runs
from bide.store.database import Database
from bide.store.runs import Expansion
from tests.store.picture import differences, picture
from tests.store.scene import Row, Scene, Wait

WHO = "matrix"
UNEXPANDED = Row(TaskState.NONE, columns={"task_id": "each", "map_index": -1, "pool": "wide", "priority_weight": 7})
MAY = frozenset({TaskState.NONE, TaskState.RESTARTING})


@pytest.mark.parametrize("state", TaskState)
@pytest.mark.parametrize("offset", [0, -1, 1])
async def test_only_what_has_not_begun_is_expanded_and_only_on_the_latest_picture(
    db: Database, scene: Scene, state: TaskState, offset: int
) -> None:
    wait = Wait() if state is TaskState.DEFERRED else None
    (task,) = await scene.place([replace(UNEXPANDED, state=state, wait=wait)])
    before = await picture(scene.connection)
    made = await runs.expand(db, WHO, [Expansion(task.id, task.epoch + offset, 3)] * 2)
    changes = differences(before, await picture(scene.connection))
    if state not in MAY or offset:
        assert (made, changes) == ([], [])
        return
    rows = await scene.connection.fetch("select * from task_instance where task_id = 'each' order by map_index")
    assert [row["map_index"] for row in rows] == [0, 1, 2]
    assert sorted(made) == sorted(row["id"] for row in rows)
    assert {(row["pool"], row["priority_weight"], row["dag_run_id"]) for row in rows} == {("wide", 7, task.run)}
    assert [row["state"] for row in rows] == [state, "none", "none"]
    (entry,) = [change.row for change in changes if change.table == "history"]
    assert (entry["verb"], entry["who"], entry["why"]) == ("expand", WHO, "3 instances")


async def test_instances_that_are_there_stay_and_only_those_that_are_missing_are_made(
    db: Database, scene: Scene
) -> None:
    (task,) = await scene.place([replace(UNEXPANDED, columns={**UNEXPANDED.columns, "map_index": 0})])
    first = await runs.expand(db, WHO, [Expansion(task.id, task.epoch, 2)])
    again = await runs.expand(db, WHO, [Expansion(task.id, task.epoch, 4)])
    assert (len(first), len(again)) == (1, 2)
    assert await runs.expand(db, WHO, [Expansion(task.id, task.epoch, 4)]) == []


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.SUCCESS])
async def test_a_run_that_is_not_running_expands_nothing(db: Database, scene: Scene, state: RunState) -> None:
    (task,) = await scene.place([replace(UNEXPANDED, run=state)])
    assert await runs.expand(db, WHO, [Expansion(task.id, task.epoch, 2)]) == []


async def test_nothing_is_expanded_while_an_old_child_has_still_to_stop(db: Database, scene: Scene) -> None:
    (task,) = await scene.place([replace(UNEXPANDED, state=TaskState.RESTARTING, child=True)])
    assert await runs.expand(db, WHO, [Expansion(task.id, task.epoch, 2)]) == []
