"""`bide keys`: a fresh key, and everything that is stored sealed anew with it while everything goes on."""

import asyncio
from pathlib import Path

import asyncpg

from bide import sealing
from bide.control import rotation
from bide.control.rotation import rotate
from bide.model.states import TaskState
from bide.sealing import Sealer, generate_key
from bide.store.database import Database
from tests.cli.person import Person
from tests.store.scene import NOW, PATIENCE, Row, Wait
from tests.store.scene import scene as set_scene

OLD, NEW, LOST = generate_key(), generate_key(), generate_key()


def test_a_fresh_key_is_printed_alone_and_explained_beside(newcomer: Person, tmp_path: Path) -> None:
    said = newcomer.say("keys", "generate")
    Sealer([said.out.strip()])
    assert "take the old key away" in said.err
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".bide").mkdir()
    (tmp_path / ".bide" / "key").write_text(OLD)
    assert "/.bide/key, which is in use now" in newcomer.say("keys", "generate").err


async def stored(database: str, number: int, sealer: Sealer) -> None:
    """Store some of everything."""
    connection = await asyncpg.connect(database)
    scene = await set_scene(connection)
    placed = await scene.place([Row(TaskState.DEFERRED, "resume", wait=Wait()) for _ in range(number)])
    for one in placed:
        token = sealer.seal("{}", sealing.wait(one.trigger_id or 0, "package.Trigger"))
        await connection.execute("update trigger set kwargs = $2 where id = $1", one.trigger_id, token)
    gone = placed[0]
    await connection.execute(
        "insert into kill (trigger_id, task_instance_id, classpath, kwargs, claim, reason, asked_at, deadline)"
        " values (900, $1, 'a.B', $2, 1, 'cleared', $3, $4)",
        *(gone.id, sealer.seal("{}", sealing.wait(900, "a.B")), NOW, NOW + PATIENCE),
    )
    for name in ("one", "two"):
        await connection.execute(
            "insert into variable (key, sealed) values ($1, $2)", name, sealer.seal(name, sealing.variable(name))
        )
        await connection.execute(
            "insert into connection (conn_id, conn_type, sealed) values ($1, 'http', $2)",
            *(name, sealer.seal(name, sealing.connection(name))),
        )
    await connection.close()


async def test_everything_is_sealed_anew_and_what_no_key_opens_is_named(person: Person, database: str) -> None:
    assert "There is no key here" in await person.refused("keys", "rotate")
    await stored(database, 3, Sealer([OLD]))
    person.patch.setenv("BIDE_SECURITY__KEYS", f"{NEW},{OLD}")
    said = await person.says("keys", "rotate")
    assert said.lines == [
        "what there sealed anew",
        "variables 2 2",
        "connections 2 2",
        "waits 3 3",
        "calls of on_kill 1 1",
    ]
    assert "All of it opens with the first key" in said.err
    person.patch.setenv("BIDE_SECURITY__KEYS", NEW)
    told = (await person.says("keys", "rotate", "-o", "json")).json()
    assert [(one["read"], one["renewed"], one["locked"]) for one in told] == [
        (2, 0, []),
        (2, 0, []),
        (3, 0, []),
        (1, 0, []),
    ]
    person.patch.setenv("BIDE_SECURITY__KEYS", f"{LOST},{OLD}")
    said = await person.says("keys", "rotate")
    assert said.code == 1
    assert "Cannot be opened: variables one: None of 2 keys opens what is stored" in said.err


async def test_a_rotation_that_was_interrupted_goes_on(db: Database, database: str) -> None:
    rotation_batch, many = rotation.BATCH, rotation.BATCH + 20
    await stored(database, many, Sealer([OLD]))
    sealer = Sealer([NEW, OLD])
    batches = rotate(db, sealer)
    assert [(await anext(batches)).renewed for _ in range(3)] == [2, 2, rotation_batch]
    await batches.aclose()
    both = await asyncio.gather(*(total(db, sealer) for _ in range(2)))
    assert sum(both) == many - rotation_batch + 1
    assert await total(db, sealer) == 0


async def total(db: Database, sealer: Sealer) -> int:
    return sum([batch.renewed async for batch in rotate(db, sealer)])
