"""`bide pools`."""

from bide.model.plan import DagPlan
from tests.cli.person import Person
from tests.scheduler.town import Town, dag, task


async def test_pools_are_listed_with_what_is_taken_and_wanted(person: Person, town: Town) -> None:
    assert await person.done("pools", "set", "narrow", "1", "--description", "The old server") == ["narrow: 1 slot"]
    plan = dag("many", *(task(f"t{number}", pool="narrow") for number in range(3)))
    await town.store(plan)
    await town.launch(plan)
    await town.rounds.go()
    assert await person.done("pools", "list") == [
        "pool slots free queued wanted what it is for",
        "default_pool 128 128",
        "narrow 1 0 1 2 The old server",
    ]
    told = (await person.says("pools", "list", "-o", "json")).json()
    assert told[1] == {
        "name": "narrow",
        "slots": 1,
        "include_deferred": False,
        "description": "The old server",
        "queued": 1,
        "running": 0,
        "deferred": 0,
        "scheduled": 2,
    }


async def test_what_is_not_said_stays_as_it_is(person: Person, town: Town) -> None:
    await person.done("pools", "set", "p", "3", "--include-deferred", "--description", "why")
    await person.done("pools", "set", "p", "5")
    row = await town.connection.fetchrow("select * from pool where name = 'p'")
    assert dict(row) == {"name": "p", "slots": 5, "include_deferred": True, "description": "why"}
    await person.done("pools", "set", "p", "0", "--exclude-deferred", "--description", "")
    row = await town.connection.fetchrow("select * from pool where name = 'p'")
    assert dict(row) == {"name": "p", "slots": 0, "include_deferred": False, "description": ""}


async def test_pools_that_nobody_needs_are_removed(person: Person, town: Town, sales: DagPlan) -> None:
    await person.done("pools", "set", "spare", "3")
    assert "This removes the pool spare. Nobody is here to be asked" in await person.refused("pools", "delete", "spare")
    assert await person.done("pools", "delete", "spare", "--yes") == ["spare: removed"]
    assert "did you mean 'default_pool'?" in await person.refused("pools", "delete", "default", "--yes")
    assert "it is the default" in await person.refused("pools", "delete", "default_pool", "--yes")
    await person.done("pools", "set", "busy", "3")
    plan = dag("many", task("a", pool="busy"))
    await town.store(plan)
    await town.launch(plan)
    assert "tasks that are not over need it" in await person.refused("pools", "delete", "busy", "--yes")


async def test_what_is_no_pool_is_wrong_usage(person: Person) -> None:
    assert "greater than or equal to 0" in await person.refused("pools", "set", "p", "--", "-1", code=2)
    assert "valid integer" in await person.refused("pools", "set", "p", "many", code=2)
    assert "must be printable and have 1 to 250 bytes" in await person.refused("pools", "set", "", "3", code=2)
    assert "less than or equal to 2147483647" in await person.refused("pools", "set", "p", str(2**31), code=2)
