"""`bide savings`: the time for which tasks waited without a worker, by DAG, in hours and in money."""

from datetime import timedelta

import pytest

from bide.control.savings import saved
from bide.store import by_hand, savings
from bide.store.by_hand import ExtendedWait, SeenWait
from tests.cli.person import Person
from tests.cli.waits import defer
from tests.scheduler.town import NOW, WHO, Town, dag, task

HOUR = timedelta(hours=1)


@pytest.fixture
async def history(town: Town) -> Town:
    """At noon four tasks begin to wait: two go on at 2 pm, one of them waits again until 5 pm; two wait on, at 6 pm."""
    for dag_id in ("files", "jobs"):
        plan = dag(dag_id, task("a"), task("b"))
        await town.store(plan)
        await town.launch(plan)
        waits = await defer(town, a={"timeout": 9 * HOUR}, b={"shared_key": dag_id})
        (first, second) = [
            row["id"] for row in await town.connection.fetch("select id from task_instance where dag_id = $1", dag_id)
        ]
        later = [ExtendedWait(first, waits["a"], NOW + 20 * HOUR)]
        assert len(await by_hand.extend(town.db, WHO, later)) == 1
        if dag_id == "files":
            files = {"a": SeenWait(first, waits["a"]), "b": SeenWait(second, waits["b"])}
    await town.pass_time(2 * HOUR)
    assert len(await by_hand.fire_by_hand(town.db, WHO, list(files.values()), "1")) == 2
    again = (await defer(town, a={}))["a"]
    await town.pass_time(3 * HOUR)
    assert len(await by_hand.fire_by_hand(town.db, WHO, [SeenWait(files["a"].id, again)], "1")) == 1
    await town.pass_time(HOUR)
    return town


async def test_what_has_waited_is_added_up(person: Person, history: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    said = await person.says("savings", "--price", "0.5")
    assert said.lines == [
        "dag waits waited hours money",
        "jobs 2 12h 12.0 6.00",
        "files 3 7h 7.0 3.50",
        "all 5 19h 19.0 9.50",
    ]
    assert "Counted is the time for which tasks were deferred" in said.err
    assert await person.done("savings", "jobs") == ["dag waits waited hours", "jobs 2 12h 12.0"]
    assert await person.done("--set", "worker.price_per_hour=2", "savings", "jobs") == [
        "dag waits waited hours money",
        "jobs 2 12h 12.0 24.00",
    ]
    # From 1 pm to 3 pm: what lies in between of each wait.
    told = (
        await person.says("savings", "--since", "2030-01-01T13:00", "--until", "2030-01-01T15:00", "-o", "json")
    ).json()
    assert {one["dag_id"]: (one["waits"], one["hours"]) for one in told["dags"]} == {"jobs": (2, 4), "files": (3, 3)}
    assert told["total"]["waited"] == 7 * 3600
    assert await person.done("savings", "--since", "2029-01-01", "--until", "2029-02-01") == []
    assert "must lie before" in await person.refused("savings", "--since", "2031-01-01", code=2)
    assert "did you mean 'jobs'?" in await person.refused("savings", "job")
    monkeypatch.setattr(savings, "BATCH", 1)
    in_small_batches = await saved(history.db, NOW, NOW + 9 * HOUR, 0)
    assert (in_small_batches.total.waits, in_small_batches.total.hours) == (5, 19)
