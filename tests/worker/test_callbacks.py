"""Callbacks run on workers, in children, for ends that were decided anywhere; a worker that dies loses none."""

from datetime import timedelta

import asyncpg
import pytest

from bide.model.states import TaskState
from bide.store import callbacks, legs, people
from bide.store.legs import FailedLeg
from tests.process.eventually import eventually
from tests.worker.stage import WHO, Stage

SOURCE = """
    import os, signal, time

    def breaks(order, port):
        raise ValueError("broken")

    def on_failure(order, port):
        print("told", order.reason, order.leg.task_id, order.leg.try_number)

    def works(order, port):
        return 1

    def on_success(order, port):
        os.kill(os.getpid(), signal.SIGKILL)
"""
WITH_CALLBACKS = {"callbacks": frozenset({"success", "failure"})}


async def call(stage: Stage, name: str) -> asyncpg.Record:
    """Return the callback of a task, once it has ended."""

    async def ended() -> bool:
        return bool(
            await stage.connection.fetchval(
                "select count(*) from callback where task_instance_id = $1 and ended_at is not null", stage.ids[name]
            )
        )

    await eventually(ended, 20)
    return await stage.connection.fetchrow("select * from callback where task_instance_id = $1", stage.ids[name])


async def test_an_end_on_a_worker_is_told_in_a_child_and_stands_in_the_log_of_the_try(stage: Stage) -> None:
    async with stage.working():
        await stage.launch(SOURCE, breaks=WITH_CALLBACKS, works=WITH_CALLBACKS)
        told, lost = await call(stage, "breaks"), await call(stage, "works")
    assert (told["state"], told["error"], told["claim"]) == ("success", None, 1)
    log = await stage.log("breaks")
    assert log.index("ValueError: broken") < log.index("told ValueError: broken breaks 1")
    # What becomes of a callback changes nothing about its task.
    assert (lost["state"], await stage.state("works")) == ("failed", "success")
    assert "killed by SIGKILL" in lost["error"]


async def test_ends_that_a_scheduler_or_a_person_has_decided_are_told_too(stage: Stage) -> None:
    await stage.launch(SOURCE, breaks=WITH_CALLBACKS, works=WITH_CALLBACKS)
    await stage.connection.execute(
        "update task_instance set state = 'scheduled', next_method = '__fail__', next_kwargs = '{}', try_number = 1"
        " where id = $1",
        stage.ids["breaks"],
    )
    row = await stage.row("breaks")
    await legs.fail(stage.db, WHO, [FailedLeg(row["id"], row["leg"], "scheduled", None, "its worker is gone")])
    await people.mark(stage.db, WHO, timedelta(0), [stage.ids["works"]], TaskState.FAILED, "by hand")
    async with stage.working():
        assert (await call(stage, "breaks"))["reason"] == "its worker is gone"
        assert (await call(stage, "works"))["state"] == "success"
    assert "told its worker is gone breaks 1" in await stage.log("breaks")


SLOW = """
    import os, time

    def breaks(order, port):
        raise ValueError("broken")

    def on_failure(order, port):
        if not os.path.exists("{marker}"):
            open("{marker}", "w").close()
            os.read(os.pipe()[0], 1)
        print("told at last")
"""


async def test_a_callback_whose_worker_dies_is_made_by_another_one(stage: Stage) -> None:
    marker = stage.folder / "begun"
    dead = await stage.worker_process()
    await stage.launch(SLOW.format(marker=marker), breaks=WITH_CALLBACKS)
    await eventually(marker.exists, 20)
    dead.kill()
    await dead.wait()
    await stage.connection.execute("update job set state = 'failed', end_date = bide_now()")
    assert len(await callbacks.free_callback(stage.db, WHO, 5, 10)) == 1
    async with stage.working():
        made = await call(stage, "breaks")
    assert (made["state"], made["claim"]) == ("success", 3)
    assert "told at last" in await stage.log("breaks")


async def test_a_worker_that_leaves_lets_callbacks_end_and_keeps_none_that_do_not(stage: Stage) -> None:
    marker = stage.folder / "begun"
    async with stage.working():
        await stage.launch(SLOW.format(marker=marker), breaks=WITH_CALLBACKS)
        await eventually(marker.exists, 20)
    assert len(await callbacks.free_callback(stage.db, WHO, 5, 10)) == 1
    async with stage.working(drain_sec=10) as working:
        working.hurries = False
        await eventually(lambda: is_taken(stage), 20)
    made = await call(stage, "breaks")
    assert (made["state"], made["claim"]) == ("success", 3)


async def is_taken(stage: Stage) -> bool:
    return bool(await stage.connection.fetchval("select count(*) from callback where state <> 'pending'"))


@pytest.mark.parametrize("source", ["def breaks(", "raise ValueError('not here')"])
async def test_a_callback_whose_file_cannot_be_imported_fails_with_a_sentence(stage: Stage, source: str) -> None:
    await stage.launch(source, breaks=WITH_CALLBACKS)
    await people.mark(stage.db, WHO, timedelta(0), [stage.ids["breaks"]], TaskState.FAILED, "by hand")
    async with stage.working():
        failed = await call(stage, "breaks")
    assert failed["state"] == "failed"
    assert failed["error"].startswith("The DAG file cannot be imported")
