"""Keys are changed while waits begin, end and change hands: in the end the new key alone opens all that is there."""

import asyncio
from collections.abc import Sequence

from bide import sealing
from bide.model.states import TaskState
from bide.sealing import Sealer, generate_key
from bide.store import deferral, holding
from bide.store.database import Database
from bide.store.holding import Resealed, Sealed
from tests.store.scene import LEG, Placed, Row, Scene, Wait

WHO, BATCH = "test", 50
OLD, NEW = generate_key(), generate_key()
BOTH, ONLY_NEW, ONLY_OLD = Sealer([NEW, OLD]), Sealer([NEW]), Sealer([OLD])
CLASS = "package.Trigger"


def kwargs(number: int) -> str:
    return f'{{"number":{number}}}'


async def sealed_waits(scene: Scene, many: int) -> list[Placed]:
    """Put waits there whose arguments the old key has sealed."""
    placed = await scene.place([Row(TaskState.DEFERRED, "resume", wait=Wait("triggerer")) for _ in range(many)])
    for one in placed:
        number = one.trigger_id or 0
        token = ONLY_OLD.seal(kwargs(number), sealing.wait(number, CLASS))
        await scene.connection.execute("update trigger set kwargs = $2 where id = $1", number, token)
    return placed


def renewed(batch: Sequence[Sealed]) -> list[Resealed]:
    """Seal anew what is not under the new key yet."""
    tokens = [(one, BOTH.renewed(one.kwargs)) for one in batch]
    return [Resealed(one.id, one.kwargs, token) for one, token in tokens if token]


async def rotate(db: Database) -> tuple[int, int]:
    """Go once through all waits, in batches; return how many were read and how many were stored."""
    after, read, stored = 0, 0, 0
    while batch := await holding.resealable(db, after, BATCH):
        assert len(batch) <= BATCH
        assert [one.id for one in batch] == sorted(one.id for one in batch)
        assert batch[0].id > after
        after, read = batch[-1].id, read + len(batch)
        stored += await holding.reseal(db, renewed(batch))
    return read, stored


async def opened(scene: Scene, sealer: Sealer) -> dict[int, str]:
    rows = await scene.connection.fetch("select id, classpath, kwargs from trigger")
    return {row["id"]: sealer.open(row["kwargs"], sealing.wait(row["id"], row["classpath"])) for row in rows}


async def test_a_rotation_seals_every_wait_anew_once(db: Database, scene: Scene) -> None:
    placed = await sealed_waits(scene, 120)
    before = await scene.connection.fetch("select id, claim, triggerer_id from trigger order by id")
    assert await rotate(db) == (120, 120)
    assert await opened(scene, ONLY_NEW) == {one.trigger_id: kwargs(one.trigger_id or 0) for one in placed}
    # Whoever holds a wait goes on holding it.
    assert await scene.connection.fetch("select id, claim, triggerer_id from trigger order by id") == before
    assert await rotate(db) == (120, 0)


async def test_what_has_changed_since_it_was_read_is_left_alone(db: Database, scene: Scene) -> None:
    await sealed_waits(scene, 4)
    batch = await holding.resealable(db, 0, BATCH)
    fresh = renewed(batch)
    gone, rotated, claimed, untouched = (one.id for one in batch)
    await scene.connection.execute("update task_instance set state = 'scheduled' where trigger_id = $1", gone)
    await scene.connection.execute("delete from trigger where id = $1", gone)
    assert await holding.reseal(db, [one for one in renewed(batch) if one.id == rotated]) == 1
    theirs = await scene.connection.fetchval("select kwargs from trigger where id = $1", rotated)
    await scene.connection.execute("update trigger set claim = claim + 1 where id = $1", claimed)
    assert await holding.reseal(db, fresh) == 2
    assert await scene.connection.fetchval("select kwargs from trigger where id = $1", rotated) == theirs
    assert (await opened(scene, ONLY_NEW)).keys() == {rotated, claimed, untouched}


async def begin_waits(db: Database, scene: Scene, running: Sequence[Placed]) -> None:
    """Workers that have the new key already let tasks wait."""
    for one in running:
        (number,) = await deferral.reserve_trigger_ids(db, 1)
        token = BOTH.seal(kwargs(number), sealing.wait(number, CLASS))
        wait = deferral.NewWait(
            id=one.id, leg=LEG, trigger_id=number, classpath=CLASS, kwargs=token, next_method="resume"
        )
        assert len(await deferral.defer(db, WHO, [wait])) == 1


async def end_waits(db: Database, waits: Sequence[Placed]) -> None:
    for one in waits:
        fired = await deferral.fire(db, WHO, [deferral.Fired(one.trigger_id or 0, one.claim, "1")])
        assert [task.id for task in fired] == [one.id]


async def move_waits(db: Database, scene: Scene, waits: Sequence[Placed]) -> None:
    """Waits go from one triggerer to another; whoever claims one can open it."""
    for one in waits:
        claim = holding.Claim(one.trigger_id or 0, one.claim)
        assert await holding.release(db, WHO, scene.triggerer, [claim], "handed over")
        for taken in await holding.claim(db, WHO, scene.triggerer, [""], 5):
            assert BOTH.open(taken.kwargs, sealing.wait(taken.id, taken.classpath)) == kwargs(taken.id)


async def test_a_rotation_goes_on_beside_everything_else_and_in_the_end_the_old_key_may_go(
    db: Database, scene: Scene
) -> None:
    placed = await sealed_waits(scene, 300)
    running = await scene.place([Row(TaskState.RUNNING) for _ in range(60)])
    ends, moves = placed[::5], placed[1::5]
    await asyncio.gather(
        rotate(db), rotate(db), begin_waits(db, scene, running), end_waits(db, ends), move_waits(db, scene, moves)
    )
    await rotate(db)
    left = await opened(scene, ONLY_NEW)
    assert len(left) == 300 - len(ends) + len(running)
    assert left == {number: kwargs(number) for number in left}
    assert {one.trigger_id for one in placed} - left.keys() == {one.trigger_id for one in ends}
    assert (await rotate(db))[1] == 0
