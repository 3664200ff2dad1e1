"""Errors are told whatever is in them: a text that PostgreSQL cannot hold keeps no wait and no task from ending."""

import pytest

from bide.model.states import TaskState
from bide.store import deferral, holding, legs
from bide.store.database import Database
from bide.store.deferral import Crashed, as_error
from bide.store.holding import Parked
from bide.store.legs import SkippedLeg
from tests.store.scene import PATIENCE, Row, Scene, Wait

WHO = "test"
TEXTS = {
    "plain": ("no such file", "no such file"),
    "lines": ('a "b"\n\tc \\ é', 'a "b"\n\tc \\ é'),
    "zero": ("a\0b", "a\ufffdb"),
    "half a letter": ("file \udcff.csv", "file ?.csv"),
}


@pytest.mark.parametrize("name", TEXTS)
async def test_an_error_of_a_trigger_reaches_its_task_and_the_history(db: Database, scene: Scene, name: str) -> None:
    said, kept = TEXTS[name]
    one = await scene.put(Row(TaskState.DEFERRED, "resume", wait=Wait("triggerer")))
    (changed,) = await deferral.crash(db, WHO, [Crashed(one.trigger_id or 0, one.claim, as_error(said, said), said)])
    assert changed.state == TaskState.SCHEDULED
    row = await scene.connection.fetchrow(
        "select next_kwargs ->> 'error', next_kwargs ->> 'traceback', next_kwargs ->> 'reason' from task_instance"
    )
    assert row
    assert tuple(row) == (kept, kept, "trigger_failed")
    assert await scene.connection.fetchval("select why from history where verb = 'crash'") == kept


@pytest.mark.parametrize("name", TEXTS)
async def test_a_reason_is_kept_as_far_as_it_can_be(db: Database, scene: Scene, name: str) -> None:
    said, kept = TEXTS[name]
    waits, runs = await scene.place([Row(TaskState.DEFERRED, "resume", wait=Wait("triggerer")), Row(TaskState.RUNNING)])
    await holding.park(db, WHO, [Parked(waits.trigger_id or 0, waits.claim, said, PATIENCE)])
    await legs.skip(db, WHO, [SkippedLeg(runs.id, runs.leg, said)])
    assert await scene.connection.fetchval("select parked_why from trigger") == kept
    reasons = await scene.connection.fetch("select why from history where verb in ('park', 'skip')")
    assert [row["why"] for row in reasons] == [kept, kept]
