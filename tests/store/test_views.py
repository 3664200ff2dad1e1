"""What the services look at: the room that is left, and what may go next in which order."""

from collections import Counter
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from bide.model.states import RunState, TaskState
from bide.store import deferral, queueing, views
from bide.store.database import Database
from bide.store.holding import Claim
from bide.store.rows import Leg
from bide.store.views import Busy, Expiring, HeldLeg, PoolRoom
from tests.store.scene import EPOCH, LEG, NOW, TICK, TRY, Placed, Row, Scene, Wait

WHO = "test"
RESUMES = "resume"
ALL_STATES = list(TaskState)


async def pools(scene: Scene, **slots: int) -> None:
    await scene.connection.execute("delete from pool")
    for name, number in slots.items():
        include = name.startswith("all")
        await scene.connection.execute(
            "insert into pool (name, slots, include_deferred) values ($1, $2, $3)", name, number, include
        )


def in_state(state: TaskState, **columns: Any) -> Row:
    wait = Wait("timer", due=False) if state == TaskState.DEFERRED else None
    return Row(state, RESUMES if wait else None, wait=wait, columns=columns)


async def test_room_in_a_pool_is_taken_by_what_is_queued_or_has_a_child(db: Database, scene: Scene) -> None:
    await pools(scene, all_of_it=50, empty=0, only_running=50)
    rows = [
        in_state(state, pool=pool, pool_slots=2) for state, pool in product(ALL_STATES, ("all_of_it", "only_running"))
    ]
    # Taken away from its worker, but the child has still to stop: in any of these states it takes its room.
    stopping = [TaskState.RESTARTING, TaskState.SUCCESS, TaskState.FAILED, TaskState.SKIPPED, TaskState.REMOVED]
    rows += [Row(state, child=True, columns={"pool": "only_running", "pool_slots": 3}) for state in stopping]
    await scene.place(rows)
    usual = 3 * 2  # queued, running, shutdown
    assert await views.pool_room(db) == [
        PoolRoom("all_of_it", 50, 50 - usual - 2),  # and what is deferred
        PoolRoom("empty", 0, 0),
        PoolRoom("only_running", 50, 50 - usual - len(stopping) * 3),
    ]


async def test_a_pool_that_was_made_smaller_has_less_room_than_none(db: Database, scene: Scene) -> None:
    await pools(scene, default_pool=4)
    await scene.place([Row(TaskState.RUNNING) for _ in range(3)])
    await scene.connection.execute("update pool set slots = 1")
    assert await views.pool_room(db) == [PoolRoom("default_pool", 1, -2)]


async def test_what_takes_room_is_counted_by_dag_run_and_task(db: Database, scene: Scene) -> None:
    one, two = await scene.place([Row(TaskState.NONE), Row(TaskState.NONE)])
    placed = await scene.place(
        [
            Row(state, child=state == TaskState.SUCCESS, columns={"task_id": f"of {state}"})
            for state in ALL_STATES
            if state != "deferred"
        ]
    )
    await scene.connection.execute(
        "insert into task_instance (dag_run_id, dag_id, run_id, task_id, map_index, state)"
        " select r.id, 'dag', r.run_id, 'mapped', number, 'queued'"
        " from dag_run r, generate_series(0, 2) number where r.id = any ($1)",
        [one.run, two.run],
    )
    busy = await views.busy(db)
    states = {one.row.state: one.run for one in placed}
    taking = [TaskState.QUEUED, TaskState.RUNNING, TaskState.SHUTDOWN, TaskState.SUCCESS]
    assert Counter(busy) == Counter(
        [Busy("dag", run.run, "mapped", 3) for run in (one, two)]
        + [Busy("dag", states[state], f"of {state}", 1) for state in taking]
    )


def scheduled(priority: int = 1, next_method: str | None = None, pool: str = "default_pool", **more: Any) -> Row:
    return Row(TaskState.SCHEDULED, next_method, columns={"priority_weight": priority, "pool": pool}, **more)


async def test_candidates_are_what_resumes_before_what_is_fresh_then_by_priority_then_by_age(
    db: Database, scene: Scene
) -> None:
    kinds = [(next_method, priority) for next_method in (None, RESUMES) for priority in (1, 9, -3)] * 3
    placed = await scene.place([scheduled(priority, next_method) for next_method, priority in kinds])
    found = await views.candidates(db, ["default_pool"], 100)

    def order(one: Placed) -> tuple[bool, int, int]:
        return one.row.next_method is None, -one.row.columns["priority_weight"], one.id

    assert [one.id for one in found] == [one.id for one in sorted(placed, key=order)]
    assert [one.resumes for one in found] == [True] * 9 + [False] * 9
    assert [one.id for one in await views.candidates(db, ["default_pool"], 4)] == [one.id for one in found[:4]]


async def test_a_full_pool_hides_no_candidate_of_another_one(db: Database, scene: Scene) -> None:
    placed = await scene.place(
        [scheduled(9, RESUMES, "crowded") for _ in range(5)] + [scheduled(1, None, "calm") for _ in range(5)]
    )
    found = await views.candidates(db, ["crowded", "calm"], 2)
    assert [one.id for one in found] == [placed[n].id for n in (0, 1, 5, 6)]
    assert [one.id for one in await views.candidates(db, ["calm"], 9)] == [one.id for one in placed[5:]]
    assert await views.candidates(db, ["nowhere"], 9) == []
    assert await views.candidates(db, [], 9) == []


async def test_only_what_may_be_queued_is_a_candidate(db: Database, scene: Scene) -> None:
    may, *_ = await scene.place(
        [
            scheduled(),
            scheduled(next_method="__fail__"),
            scheduled(kill=True),  # an on_kill has still to be answered
            scheduled(run=RunState.QUEUED),
            scheduled(run=RunState.FAILED),
            *(in_state(state) for state in ALL_STATES if state != TaskState.SCHEDULED),
        ]
    )
    found = await views.candidates(db, ["default_pool"], 100)
    assert [one.id for one in found] == [may.id]
    changed = await queueing.enqueue(db, WHO, await views.current_turn(db), [Leg(one.id, one.leg) for one in found])
    assert [one.id for one in changed] == [may.id]


async def test_a_candidate_has_all_that_is_asked_about_it(db: Database, scene: Scene) -> None:
    columns = {"pool": "p", "pool_slots": 3, "priority_weight": 5, "task_id": "t"}
    limits = {"max_active_tis_per_dag": 7, "max_active_tis_per_dagrun": 2}
    one = await scene.put(Row(TaskState.SCHEDULED, columns={**columns, **limits}))
    (found,) = await views.candidates(db, ["p"], 9)
    assert found == views.Candidate(
        one.id,
        LEG,
        one.run,
        "dag",
        "t",
        "p",
        3,
        5,
        7,
        2,
        max_active_tasks=16,
        resumes=False,
        dag_version_id=None,
        queue="default",
    )


async def test_offers_are_the_queued_legs_of_the_queues_that_are_served(db: Database, scene: Scene) -> None:
    kinds = list(product(("a", "b", "c"), (None, RESUMES), (1, 9)))
    placed = await scene.place(
        [
            Row(TaskState.QUEUED, next_method, columns={"queue": queue, "priority_weight": priority})
            for queue, next_method, priority in kinds
        ]
    )
    await scene.place([in_state(state, queue="a") for state in ALL_STATES if state != TaskState.QUEUED])
    served = [one for one in placed if one.row.columns["queue"] in ("a", "b")]

    def order(one: Placed) -> tuple[bool, int, int]:
        return one.row.next_method is None, -one.row.columns["priority_weight"], one.id

    urgent = [Leg(one.id, LEG) for one in sorted(served, key=order)]
    assert await views.offered(db, ["a", "b"], 100) == urgent
    assert await views.offered(db, ["b", "a"], 3) == urgent[:3]
    assert await views.offered(db, [], 3) == []


async def test_what_has_only_to_fail_is_listed_with_its_tries(db: Database, scene: Scene) -> None:
    placed = await scene.place(
        [scheduled(next_method=method) for method in ("__fail__", RESUMES, None, "__fail__", "__fail__")]
    )
    ids = [one.id for one in placed if one.row.next_method == "__fail__"]
    found = await views.failing(db, 2)
    assert [one.id for one in found] == ids[:2]
    assert [one.id for one in await views.failing(db, 9)] == ids
    assert (found[0].leg, found[0].try_number, found[0].max_tries) == (LEG, TRY, TRY + 1)
    assert found[0].next_kwargs == '{"error": "boom"}'


async def test_a_worker_finds_its_children_and_which_of_them_were_taken_away(db: Database, scene: Scene) -> None:
    placed = await scene.place(
        [
            Row(TaskState.RUNNING),
            Row(TaskState.RESTARTING, child=True),
            Row(TaskState.SHUTDOWN),
            Row(TaskState.FAILED, child=True),
            Row(TaskState.RUNNING, owner_alive=False),
            Row(TaskState.QUEUED),
        ]
    )
    held = [HeldLeg(one.id, one.child_leg or 0, LEG, one.row.state) for one in placed[:4]]
    assert await views.legs_of(db, scene.worker) == held
    assert [one.leg > one.child_leg for one in held] == [False, True, False, True]
    assert [one.id for one in await views.legs_of(db, scene.dead_worker)] == [placed[4].id]


@pytest.mark.parametrize("holder", ["triggerer", "dead triggerer"])
async def test_a_triggerer_finds_its_waits(db: Database, scene: Scene, holder: str) -> None:
    kinds: list[Any] = ["triggerer", "nobody", "dead triggerer", "timer", "parked", "triggerer"]
    placed = await scene.place([Row(TaskState.DEFERRED, RESUMES, wait=Wait(kind)) for kind in kinds])
    number = scene.triggerer if holder == "triggerer" else scene.dead_triggerer
    own = [one for one in placed if one.row.wait and one.row.wait.holder == holder]
    assert await views.waits_of(db, number) == [Claim(one.trigger_id or 0, one.claim) for one in own]


async def test_runs_out_of_time_are_listed_with_what_has_still_to_be_stopped(db: Database, scene: Scene) -> None:
    def run(after: timedelta | None, state: RunState = RunState.RUNNING) -> Row:
        due = None if after is None else NOW + after
        return Row(TaskState.SCHEDULED, run=state, run_columns={"timeout_at": due})

    late, now, *_ = await scene.place(
        [run(-TICK), run(timedelta(0)), run(TICK), run(None), run(-TICK, RunState.QUEUED), run(-TICK, RunState.FAILED)]
    )
    await scene.connection.execute(
        "insert into task_instance (dag_run_id, dag_id, run_id, task_id, state, end_date)"
        " select r.id, 'dag', r.run_id, done.state, done.state, now()"
        " from dag_run r, (values ('success'), ('skipped')) done (state)"
    )
    assert await views.expiring(db, 9) == [Expiring(late.run, EPOCH, (late.id,)), Expiring(now.run, EPOCH, (now.id,))]
    assert [one.id for one in await views.expiring(db, 1)] == [late.run]
    await scene.connection.execute("delete from task_instance where dag_run_id = $1 and state = 'scheduled'", late.run)
    assert (await views.expiring(db, 1))[0].tasks == ()


async def test_the_turn_goes_on_only_when_room_is_handed_out(db: Database, scene: Scene) -> None:
    first = await views.current_turn(db)
    one = await scene.put(scheduled())
    assert await queueing.enqueue(db, WHO, first, [Leg(one.id, one.leg)])
    assert await views.current_turn(db) == first + 1
    assert await deferral.defer_at_start(db, WHO, first, []) == []
    assert await views.current_turn(db) == first + 1
