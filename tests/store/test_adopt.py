"""A run that is not over goes on with a newer version of its DAG; what is over stays as it was."""

from dataclasses import replace

import pytest

from bide.model.states import RunState, TaskState
from bide.store import runs
from bide.store.database import Database
from bide.store.runs import NewTask
from tests.store.picture import differences, picture
from tests.store.scene import Row, Scene

WHO = "matrix"
OLD = Row(TaskState.RUNNING, columns={"task_id": "old", "retries": 1, "max_tries": 3, "pool": "small"})
NEW = [NewTask("old", pool="wide", retries=2, is_leaf=True, callbacks="failure"), NewTask("new", pool="wide")]


@pytest.mark.parametrize("run", RunState)
async def test_only_a_run_that_is_not_over_adopts_a_version(db: Database, scene: Scene, run: RunState) -> None:
    version = await _version(scene)
    state = TaskState.NONE if run in (RunState.QUEUED, RunState.RUNNING) else TaskState.SUCCESS
    (task,) = await scene.place([replace(OLD, state=state, run=run)])
    before = await picture(scene.connection)
    answer = await runs.adopt(db, WHO, [task.run, task.run], version, None, NEW)
    changes = differences(before, await picture(scene.connection))
    if state is TaskState.SUCCESS:
        assert (answer, changes) == ([], [])
        return
    assert [(row.id, row.state) for row in answer] == [(task.run, run)]
    row = await scene.connection.fetchrow("select * from dag_run where id = $1", task.run)
    assert (row["dag_version_id"], row["epoch"]) == (version, task.epoch + 1)
    (entry,) = [change.row for change in changes if change.table == "history"]
    assert (entry["verb"], entry["who"], entry["dag_run_id"]) == ("adopt", WHO, task.run)
    looks = [change.row for change in changes if change.table == "look"]
    assert [(look["dag_run_id"], look["task_id"]) for look in looks] == [(task.run, None)]


async def test_tasks_take_on_what_the_version_says_and_keep_what_they_are_doing(db: Database, scene: Scene) -> None:
    (task,) = await scene.place([OLD])
    await runs.adopt(db, WHO, [task.run], await _version(scene), None, NEW)
    rows = {row["task_id"]: row for row in await scene.connection.fetch("select * from task_instance")}
    old, new = rows["old"], rows["new"]
    assert (old["pool"], old["retries"], old["max_tries"], old["is_leaf"]) == ("wide", 2, 4, True)
    assert (old["state"], old["leg"], old["worker_id"]) == ("running", task.leg, scene.worker)
    assert old["callbacks"] == ["failure"]
    assert (new["state"], new["pool"], new["dag_run_id"]) == ("none", "wide", task.run)


async def test_a_version_is_adopted_once(db: Database, scene: Scene) -> None:
    version = await _version(scene)
    (task,) = await scene.place([OLD])
    assert len(await runs.adopt(db, WHO, [task.run], version, None, NEW)) == 1
    assert await runs.adopt(db, WHO, [task.run], version, None, NEW) == []


async def test_a_task_that_was_expanded_gets_no_instance_more(db: Database, scene: Scene) -> None:
    (task,) = await scene.place([replace(OLD, columns={**OLD.columns, "map_index": 0})])
    await runs.adopt(db, WHO, [task.run], await _version(scene), None, [NewTask("old")])
    assert await scene.connection.fetchval("select count(*) from task_instance") == 1


async def _version(scene: Scene) -> int:
    dag_id = await scene.connection.fetchval("select dag_id from dag limit 1")
    return int(
        await scene.connection.fetchval(
            "insert into dag_version (dag_id, number, plan, created_at) values ($1, 99, '{}', now()) returning id",
            dag_id,
        )
    )
