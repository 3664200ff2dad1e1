"""What a person says about waits, beyond states and fences: events, on_kill, shared waits, and deadlines that hold."""

import json
from datetime import timedelta
from typing import Any

from bide.model.states import TaskState
from bide.store import by_hand
from bide.store.by_hand import ExtendedWait, SeenWait
from bide.store.database import Database
from bide.store.deferral import Fired, as_error, fire
from tests.store.scene import NOW, PATIENCE, Placed, Row, Scene, Wait

WHO = "ada"
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def deferred(wait: Wait | None = None, **columns: Any) -> Row:
    return Row(TaskState.DEFERRED, "resume", wait=wait or Wait(), columns=columns)


def seen(*placed: Placed) -> list[SeenWait]:
    return [SeenWait(one.id, one.trigger_id or 0) for one in placed]


async def task(scene: Scene, one: Placed) -> Any:
    return await scene.connection.fetchrow("select * from task_instance where id = $1", one.id)


async def count(scene: Scene, table: str) -> int:
    return int(await scene.connection.fetchval(f"select count(*) from {table}"))


async def test_a_person_gives_the_event_and_one_that_is_under_way_is_refused(db: Database, scene: Scene) -> None:
    one = await scene.put(deferred(Wait(on_kill=True)))
    (changed,) = await by_hand.fire_by_hand(db, WHO, seen(one), '{"status": "success"}', "the job is done")
    assert changed.state is TaskState.SCHEDULED
    row = await task(scene, one)
    assert (row["next_method"], json.loads(row["next_kwargs"])) == ("resume", {"a": 1, "event": {"status": "success"}})
    # What was waited for has come: nothing is stopped.
    assert (await count(scene, "trigger"), await count(scene, "kill")) == (0, 0)
    assert await fire(db, "triggerer", [Fired(one.trigger_id or 0, one.claim, "2")]) == []
    assert await by_hand.fire_by_hand(db, WHO, seen(one), "3") == []
    entry = await scene.connection.fetchrow("select * from history")
    assert (entry["verb"], entry["who"], entry["why"]) == ("fire_by_hand", WHO, "the job is done")


async def test_without_an_event_a_timer_does_what_it_does_at_its_date(db: Database, scene: Scene) -> None:
    timer, last, trigger = await scene.place(
        [deferred(Wait("timer", due=False)), deferred(Wait("timer", due=False, ends=True)), deferred()]
    )
    await scene.connection.execute("update trigger set event = null where id = $1", last.trigger_id)
    fired = await by_hand.fire_by_hand(db, WHO, seen(timer, last, trigger), None)
    assert [one.state for one in fired] == [TaskState.SCHEDULED, TaskState.SUCCESS, TaskState.SCHEDULED]
    assert json.loads((await task(scene, timer))["next_kwargs"])["event"] == {"rang": True}
    assert json.loads((await task(scene, trigger))["next_kwargs"])["event"] is None


async def test_who_else_shares_a_wait_goes_on_waiting(db: Database, scene: Scene) -> None:
    async def say(verb: str, one: Placed) -> int:
        if verb == "fire":
            return len(await by_hand.fire_by_hand(db, WHO, seen(one), "1"))
        if verb == "fail":
            return len(await by_hand.fail_by_hand(db, WHO, PATIENCE, seen(one), as_error("no")))
        return len(await by_hand.cancel(db, WHO, PATIENCE, seen(one), TaskState.SKIPPED))

    for kills, verb in ((0, "fire"), (1, "fail"), (1, "cancel")):
        await scene.connection.execute("delete from kill")
        wait = Wait(shared_key=verb, on_kill=True)
        first, second = await scene.place([deferred(wait), deferred(wait)])
        assert await say(verb, first) == 1
        assert (await task(scene, second))["state"] == "deferred"
        assert (await count(scene, "trigger"), await count(scene, "kill")) == (1, 0)
        assert await say(verb, second) == 1
        assert (await count(scene, "trigger"), await count(scene, "kill")) == (0, kills)


async def test_a_wait_that_is_failed_goes_on_to_fail_and_its_outside_work_is_stopped(
    db: Database, scene: Scene
) -> None:
    one = await scene.put(deferred(Wait(on_kill=True)))
    error = as_error("the source is gone", reason="failed_by_hand")
    assert len(await by_hand.fail_by_hand(db, WHO, PATIENCE, seen(one), error, "the source is gone")) == 1
    row = await task(scene, one)
    assert (row["state"], row["next_method"]) == ("scheduled", "__fail__")
    assert json.loads(row["next_kwargs"])["error"] == "the source is gone"
    kill = await scene.connection.fetchrow("select * from kill")
    assert (kill["task_instance_id"], kill["reason"], kill["deadline"]) == (one.id, "marked", NOW + PATIENCE)


async def test_a_wait_that_is_cancelled_ends_its_task_as_said(db: Database, scene: Scene) -> None:
    one = await scene.put(deferred(Wait(on_kill=True), callbacks=["failure"]))
    assert len(await by_hand.cancel(db, WHO, PATIENCE, seen(one), TaskState.FAILED, "enough")) == 1
    row = await task(scene, one)
    assert (row["state"], row["next_method"], row["end_date"]) == ("failed", None, NOW)
    assert [await count(scene, table) for table in ("kill", "callback", "look")] == [1, 1, 1]


async def test_a_task_that_waits_for_something_else_by_now_is_left_alone(db: Database, scene: Scene) -> None:
    one, other = await scene.place([deferred(), deferred()])
    stale = [SeenWait(one.id, other.trigger_id or 0)]
    assert await by_hand.fire_by_hand(db, WHO, stale, "1") == []
    assert await by_hand.fail_by_hand(db, WHO, PATIENCE, stale, as_error("no")) == []
    assert await by_hand.cancel(db, WHO, PATIENCE, stale, TaskState.SUCCESS) == []
    assert await by_hand.extend(db, WHO, [ExtendedWait(one.id, other.trigger_id or 0, NOW + HOUR)]) == []
    assert db.stale_writes == dict.fromkeys(("fire_by_hand", "fail_by_hand", "cancel", "extend"), 1)


async def test_a_wait_is_extended_as_far_as_other_deadlines_let_it(db: Database, scene: Scene) -> None:
    soon: dict[str, Any] = {"trigger_timeout": NOW + MINUTE}
    free, tried, sensed, at_its_end, endless, later = await scene.place(
        [
            deferred(**soon),
            deferred(**soon, try_deadline=NOW + 30 * MINUTE),
            deferred(**soon, sensor_deadline=NOW + 20 * MINUTE, try_deadline=NOW + 30 * MINUTE),
            deferred(**soon, try_deadline=NOW + MINUTE),
            deferred(),
            deferred(trigger_timeout=NOW + 2 * HOUR),
        ]
    )
    every = [free, tried, sensed, at_its_end, endless, later]
    waits = [ExtendedWait(one.id, one.trigger_id, NOW + HOUR) for one in seen(*every)]
    assert [one.id for one in await by_hand.extend(db, WHO, waits, "soon")] == [free.id, tried.id, sensed.id]
    assert [(await task(scene, one))["trigger_timeout"] for one in every] == [
        NOW + HOUR,
        NOW + 30 * MINUTE,
        NOW + 20 * MINUTE,
        NOW + MINUTE,
        None,
        NOW + 2 * HOUR,
    ]
    whys = await scene.connection.fetch("select why from history order by task_instance_id")
    assert [row["why"] for row in whys][:2] == ["until 2030-01-01 13:00:00Z: soon", "until 2030-01-01 12:30:00Z: soon"]
    # Said twice, as when an answer was lost, it is the same.
    assert await by_hand.extend(db, WHO, waits) == []
