"""Tasks that begin in their triggers: the scheduler says so itself, and which queue looks after the wait."""

from datetime import timedelta

from bide.model.states import TaskState
from bide.model.wait import Wait
from bide.process.waits import WaitWriter
from bide.sealing import Sealer, generate_key, wait
from bide.store.rows import Leg
from tests.scheduler.town import Town, dag, task

STARTS = Wait(classpath="a.B", kwargs='{"x":1}', next_method="go_on", timeout=timedelta(hours=1))


async def test_a_task_begins_in_its_trigger_in_the_queue_of_the_task(town: Town) -> None:
    plan = dag(
        "starts",
        task("first", start_from_trigger=STARTS, queue="gpu"),
        task(
            "timer",
            start_from_trigger=Wait(classpath="a.T", kwargs="{}", next_method="x", due_in=timedelta(0), ends=True),
        ),
        task("work"),
    )
    await town.store(plan)
    await town.launch(plan)
    await town.play()
    assert await town.states() == {
        "first": TaskState.DEFERRED,
        "timer": TaskState.SUCCESS,
        "work": TaskState.SUCCESS,
    }
    assert town.ran == ["work"]
    waits = await town.connection.fetch("select classpath, queue, kwargs from trigger")
    assert [(row["classpath"], row["queue"]) for row in waits] == [("a.B", "gpu")]
    assert '"x"' not in waits[0]["kwargs"]


async def test_a_wait_that_fails_is_tried_again_from_its_start(town: Town) -> None:
    plan = dag("starts", task("first", start_from_trigger=STARTS))
    await town.store(plan)
    await town.launch(plan)
    await town.play()
    await town.pass_time(timedelta(hours=1))
    await town.play()
    assert await town.states() == {"first": TaskState.FAILED}
    assert town.ran == []


async def test_starts_take_turns_with_what_is_queued_and_no_room_is_handed_out_twice(town: Town) -> None:
    plan = dag(
        "many",
        *(task(f"start{number}", start_from_trigger=STARTS) for number in range(5)),
        *(task(f"work{number}") for number in range(5)),
        max_active_tasks=2,
    )
    await town.store(plan)
    await town.launch(plan)
    await town.play(legs_at_once=1)
    states = await town.states()
    assert [str(states[f"start{number}"]) for number in range(5)] == ["deferred"] * 5
    assert [str(states[f"work{number}"]) for number in range(5)] == ["success"] * 5


def test_equal_waits_of_other_code_or_another_queue_are_others() -> None:
    key = generate_key()
    sealer = Sealer([key])
    own = Wait(classpath="a.B", kwargs="{}", next_method="go_on", shared_key="same", own_code=True)
    theirs = Wait(classpath="a.B", kwargs="{}", next_method="go_on", shared_key="same")
    plainly, by_queue = WaitWriter(sealer), WaitWriter(sealer, by_queue=True)
    stored = [
        writer.stored(asked, Leg(1, 1), version, queue, 7)
        for writer in (plainly, by_queue)
        for asked in (own, theirs)
        for version in (3, 4)
        for queue in ("x", "y")
    ]
    assert [(it.shared_key, it.queue) for it in stored[:8]] == [
        *[("same:3", None)] * 2,
        *[("same:4", None)] * 2,
        *[("same", None)] * 4,
    ]
    assert len({it.shared_key for it in stored[8:]}) == 4 + 2
    assert {it.queue for it in stored[8:]} == {"x", "y"}
    assert sealer.open(stored[0].kwargs, wait(7, "a.B")) == "{}"
