"""What comes too fast and what comes too late, ten thousand times, on connections that run beside one another."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

import asyncpg
import pytest

from bide.model.states import TaskState
from bide.model.transitions import FAIL_METHOD
from bide.store import deferral, holding, legs, people, queueing, views
from bide.store.database import Database, connected
from bide.store.rows import Changed, Leg
from tests.store.scene import CLAIM, LEG, PATIENCE, Placed, Row, Scene, Wait, scene

ROUNDS, AT_ONCE, BATCH = 10, 1000, 50
RESUME = "go_on"
EVENT = '{"status": "done"}'

WAITS = Row(TaskState.DEFERRED, next_method=RESUME, wait=Wait(on_kill=True), timeout=True)
RUNS = Row(TaskState.RUNNING, begun=True)

Verb = Callable[[Sequence[Placed]], Awaitable[list[Changed]]]


@dataclass(frozen=True)
class Stage:
    """Rows, a pool of connections to speak about them, and one to look at them."""

    scene: Scene
    db: Database

    async def count(self, question: str) -> Counter[tuple[object, ...]]:
        rows = await self.scene.connection.fetch(question)
        return Counter(tuple(row) for row in rows)

    async def in_pieces(self, verb: Verb, placed: Sequence[Placed], seed: int) -> list[int]:
        """Say a verb about all rows, in an order of its own, in batches; give those that it has changed."""
        shuffled = random.Random(seed).sample(placed, len(placed))
        changed = []
        for start in range(0, len(shuffled), BATCH):
            changed += [row.id for row in await verb(shuffled[start : start + BATCH])]
        return changed


@pytest.fixture
async def stage(database: str) -> AsyncIterator[Stage]:
    connection = await asyncpg.connect(database)
    async with connected(database, pool_size=6, patience_sec=20) as db:
        yield Stage(await scene(connection), db)
    await connection.close()


def keys(placed: Sequence[Placed], ahead: int = 0) -> list[Leg]:
    return [Leg(one.id, one.leg + ahead) for one in placed]


def ids(placed: Sequence[Placed]) -> list[int]:
    return [one.id for one in placed]


async def test_of_an_event_a_crash_and_a_timeout_at_the_same_moment_exactly_one_wins(stage: Stage) -> None:
    db = stage.db

    async def fire(some: Sequence[Placed]) -> list[Changed]:
        return await deferral.fire(db, "triggerer", [deferral.Fired(one.trigger_id or 0, CLAIM, EVENT) for one in some])

    async def crash(some: Sequence[Placed]) -> list[Changed]:
        said = [deferral.Crashed(one.trigger_id or 0, CLAIM, '{"error": "boom"}', "boom") for one in some]
        return await deferral.crash(db, "triggerer", said)

    async def lapse(some: Sequence[Placed]) -> list[Changed]:
        return await deferral.lapse(db, "scheduler", PATIENCE, len(some))

    for number in range(ROUNDS):
        placed = await stage.scene.place([WAITS] * AT_ONCE)
        said = await asyncio.gather(*(stage.in_pieces(verb, placed, number) for verb in (fire, crash, lapse)))
        assert sorted(id for changed in said for id in changed) == sorted(ids(placed))
    ends = await stage.count("select verb from history where from_state = 'deferred'")
    assert ends.total() == ROUNDS * AT_ONCE
    assert ends.keys() == {("fire",), ("crash",), ("lapse",)}  # else they did not meet
    left = await stage.count("select state, next_method, trigger_timeout from task_instance")
    assert left == {
        ("scheduled", RESUME, None): ends["fire",],
        ("scheduled", FAIL_METHOD, None): ends["crash",] + ends["lapse",],
    }
    assert await stage.count("select id from trigger") == Counter()
    # The outside work of a wait that was given up is stopped; that of one that came to its end is not.
    assert (await stage.count("select reason from kill")) == Counter({("timed_out",): ends["lapse",]})


async def test_a_person_wins_over_an_event_and_a_timeout_at_the_same_moment(stage: Stage) -> None:
    db = stage.db

    async def fire(some: Sequence[Placed]) -> list[Changed]:
        return await deferral.fire(db, "triggerer", [deferral.Fired(one.trigger_id or 0, CLAIM, EVENT) for one in some])

    async def lapse(some: Sequence[Placed]) -> list[Changed]:
        return await deferral.lapse(db, "scheduler", PATIENCE, len(some))

    async def clear(some: Sequence[Placed]) -> list[Changed]:
        return await people.clear(db, "person", PATIENCE, ids(some))

    for number in range(ROUNDS):
        placed = await stage.scene.place([WAITS] * AT_ONCE)
        await asyncio.gather(*(stage.in_pieces(verb, placed, number) for verb in (clear, fire, lapse)))
    assert (
        await stage.count("select from_state from history where from_state = 'deferred'")
    ).total() == ROUNDS * AT_ONCE
    left = await stage.count("select state, next_method, next_kwargs::text, trigger_timeout from task_instance")
    assert left == {("none", None, None, None): ROUNDS * AT_ONCE}
    assert await stage.count("select id from trigger") == Counter()


async def test_an_event_right_after_the_deferral_resumes_once_whenever_the_report_of_the_leg_comes(
    stage: Stage,
) -> None:
    """The report of the leg that has deferred comes beside every step that follows, and is refused beside each."""
    db, scene_ = stage.db, stage.scene

    def late(some: Sequence[Placed]) -> list[Awaitable[list[Changed]]]:
        failed = [legs.FailedLeg(one.id, one.leg, "running", None, "exit report") for one in some]
        return [
            legs.succeed(db, "late", keys(some)),
            legs.fail(db, "late", failed),
            legs.stopped(db, "late", keys(some)),
        ]

    async def beside(step: Awaitable[Sequence[object]], some: Sequence[Placed]) -> Sequence[object]:
        changed, *refused = await asyncio.gather(step, *late(some))
        assert refused == [[], [], []]
        return changed

    async def fire_what_is_claimed(number: int) -> list[Changed]:
        fired: list[Changed] = []
        while len(fired) < number:
            claims = await holding.claim(db, "triggerer", scene_.triggerer, [""], BATCH)
            fired += await deferral.fire(db, "triggerer", [deferral.Fired(one.id, one.claim, EVENT) for one in claims])
        return fired

    for _ in range(ROUNDS):
        placed = await scene_.place([RUNS] * AT_ONCE)
        numbers = await deferral.reserve_trigger_ids(db, AT_ONCE)
        waits = [
            deferral.NewWait(
                id=one.id, leg=one.leg, trigger_id=number, classpath="a.T", kwargs="sealed", next_method=RESUME
            )
            for one, number in zip(placed, numbers, strict=True)
        ]
        # The triggerer looks for waits before there are any, so that each is fired as soon as it is committed.
        fired, *_ = await asyncio.gather(
            fire_what_is_claimed(AT_ONCE),
            *(deferral.defer(db, "worker", waits[start : start + BATCH]) for start in range(0, AT_ONCE, BATCH)),
        )
        assert sorted(row.id for row in fired) == sorted(ids(placed))
        turn = await views.current_turn(db)
        assert len(await beside(queueing.enqueue(db, "scheduler", turn, keys(placed)), placed)) == AT_ONCE
        resumed = await beside(legs.start(db, "worker", scene_.worker, keys(placed, 1)), placed)
        assert {row.next_kwargs for row in resumed if isinstance(row, legs.Started)} == {'{"event":' + EVENT + "}"}
        assert len(await beside(legs.succeed(db, "worker", keys(placed, 1)), placed)) == AT_ONCE
    verbs = await stage.count(
        "select verb, leg, who from history where task_instance_id is not null and verb <> 'claim'"
    )
    each = ROUNDS * AT_ONCE
    assert verbs == {
        ("defer", LEG, "worker"): each,
        ("fire", LEG, "triggerer"): each,
        ("enqueue", LEG + 1, "scheduler"): each,
        ("start", LEG + 1, "worker"): each,
        ("succeed", LEG + 1, "worker"): each,
    }
