"""The SQL that operators of such systems know runs here as it stands, and its answers make sense."""

import json
import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from bide.store import deferral, holding, jobs, legs, queueing, runs, views
from bide.store.database import Database
from bide.store.rows import Leg
from tests.store.scene import ALWAYS

TASKS = ("abandoned", "broken", "finished", "fresh", "overdue", "slow")
WHO = "test"
QUERIES = dict(
    re.findall(
        r"^-- name: (\w+)\n(.*?;)$", Path(__file__).with_name("operators.sql").read_text(), re.MULTILINE | re.DOTALL
    )
)
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Night:
    """Six tasks, a triggerer at work and a dead one; and a connection to ask about them."""

    connection: Any
    db: Database
    alive: int
    dead: int
    triggers: dict[str, int]
    stray: int

    async def ask(self, name: str) -> list[dict[str, Any]]:
        """Run one of the queries as it stands."""
        return [dict(row) for row in await self.connection.fetch(QUERIES[name])]

    async def names(self, name: str) -> list[str]:
        """Run one of the queries, and return what it says of tasks."""
        return [row["task_id"] for row in await self.ask(name)]


@pytest.fixture
async def night(db: Database, connection: Any) -> Night:
    """Set the scene by the engine's own verbs, three hours back, two hours back, one hour back, and now."""
    await set_back(connection, 3 * HOUR)
    alive, dead, worker = await three_processes(db)
    started = await started_tasks(db, connection, worker)
    await set_back(connection, 2 * HOUR)
    early = [name for name in TASKS if name != "fresh"]
    triggers = await deferred(db, {name: started[name] for name in early}, timeouts={"overdue": HOUR})
    await connection.execute("update trigger set queue = 'theirs' where id = $1", triggers["abandoned"])
    claims = {wait.id: wait.claim for wait in await holding.claim(db, WHO, alive, [""], 100)}
    await holding.claim(db, WHO, dead, ["theirs"], 100)
    await set_back(connection, HOUR)
    broken, finished = triggers["broken"], triggers["finished"]
    await deferral.crash(db, WHO, [deferral.Crashed(broken, claims[broken], '{"error": "boom"}', "boom")])
    resumed = await deferral.fire(db, WHO, [deferral.Fired(finished, claims[finished], "1")])
    await legs.succeed(db, WHO, await run_again(db, worker, [Leg(task.id, task.leg) for task in resumed]))
    await set_back(connection, timedelta())
    await jobs.beat(db, alive)
    await jobs.bury(db, WHO, HOUR, ALWAYS)
    triggers |= await deferred(db, {"fresh": started["fresh"]}, timeouts={})
    stray = await connection.fetchval(
        "insert into trigger (classpath, kwargs, created_date) values ('some.Trigger', '', now()) returning id"
    )
    return Night(connection, db, alive, dead, triggers, stray)


async def set_back(connection: Any, by: timedelta) -> None:
    await connection.execute("update clock set shift = -$1::interval", by)


async def three_processes(db: Database) -> list[int]:
    kinds = [("host-a", jobs.JobType.TRIGGERER), ("host-b", jobs.JobType.TRIGGERER), ("host-c", jobs.JobType.WORKER)]
    return [await jobs.register(db, WHO, jobs.NewJob(job_type=kind, hostname=host)) for host, kind in kinds]


async def started_tasks(db: Database, connection: Any, worker: int) -> dict[str, Leg]:
    """Launch one run, and start all of its tasks ten seconds after they were queued."""
    await connection.execute("insert into dag (dag_id) values ('etl')")
    new = [runs.NewTask(task_id=name) for name in TASKS]
    launched = await runs.launch(db, WHO, "etl", None, "manual", None, [runs.NewRun("run_1")], new)
    await runs.begin(db, WHO, await views.current_turn(db), [run.id for run in launched])
    tasks = await connection.fetch("select t.id, t.leg, t.task_id, r.epoch from task_instance t, dag_run r")
    await runs.ready(db, WHO, [runs.Unstarted(task["id"], task["epoch"]) for task in tasks])
    running = await run_again(db, worker, [Leg(task["id"], task["leg"]) for task in tasks])
    names = {task["id"]: task["task_id"] for task in tasks}
    await connection.execute("update task_instance set queued_at = queued_at - interval '10 seconds'")
    return {names[leg.id]: leg for leg in running}


async def run_again(db: Database, worker: int, scheduled: list[Leg]) -> list[Leg]:
    queued = await queueing.enqueue(db, WHO, await views.current_turn(db), scheduled)
    begun = await legs.start(db, WHO, worker, [Leg(task.id, task.leg) for task in queued])
    return [Leg(leg.id, leg.leg) for leg in begun]


async def deferred(db: Database, running: dict[str, Leg], timeouts: dict[str, timedelta]) -> dict[str, int]:
    ids = dict(zip(running, await deferral.reserve_trigger_ids(db, len(running)), strict=True))
    waits = [
        deferral.NewWait(
            id=leg.id, leg=leg.leg, trigger_id=ids[name], classpath=f"package.{name.title()}", kwargs="sealed",
            next_method="execute_complete", timeout=timeouts.get(name),
        )
        for name, leg in running.items()
    ]  # fmt: skip
    assert len(await deferral.defer(db, WHO, waits)) == len(waits)
    return ids


async def test_one_wait_is_found_with_who_holds_it_and_since_when(night: Night) -> None:
    [wait] = await night.ask("one_wait")
    assert (wait["trigger_id"], wait["triggerer_id"]) == (night.triggers["slow"], night.alive)
    assert (wait["state"], wait["trigger_timeout"]) == ("deferred", None)
    assert 2 * HOUR <= wait["age"] < 3 * HOUR


async def test_triggerers_are_listed_with_the_silence_of_the_dead_one(night: Night) -> None:
    first, second = await night.ask("triggerers")
    assert (first["id"], first["state"], first["hostname"]) == (night.alive, "running", "host-a")
    assert first["silent_for"] < timedelta(seconds=30)
    assert (second["id"], second["state"]) == (night.dead, "failed")
    assert second["silent_for"] >= 3 * HOUR


async def test_only_the_living_triggerer_runs(night: Night) -> None:
    assert [row["id"] for row in await night.ask("running_triggerers")] == [night.alive]


async def test_waits_are_counted_for_each_triggerer(night: Night) -> None:
    counted = {row["triggerer_id"]: (row["hostname"], row["waits"]) for row in await night.ask("waits_per_triggerer")}
    assert counted == {night.alive: ("host-a", 2), night.dead: ("host-b", 1)}


async def test_the_load_of_each_running_triggerer_is_shown(night: Night) -> None:
    [row] = await night.ask("capacity")
    assert (row["id"], row["load"], row["percent"]) == (night.alive, 2, 0)
    [row] = await night.ask("load_distribution")
    assert (row["id"], row["waits"]) == (night.alive, 2)


async def test_a_wait_that_is_past_its_timeout_is_found_until_it_lapses(night: Night) -> None:
    [late] = await night.ask("overdue")
    assert (late["task_id"], late["state"]) == ("overdue", "deferred")
    assert HOUR <= late["overdue_by"] < 2 * HOUR
    [late] = await night.ask("overdue_triggers")
    assert late["trigger_id"] == night.triggers["overdue"]
    await deferral.lapse(night.db, WHO, HOUR, 10)
    assert await night.ask("overdue") == await night.ask("overdue_triggers") == []


async def test_a_task_that_is_about_to_fail_tells_its_error(night: Night) -> None:
    [row] = await night.ask("failing")
    assert row["task_id"] == "broken"
    assert json.loads(row["next_kwargs"])["error"] == "boom"


async def test_the_overview_shows_every_wait_once(night: Night) -> None:
    rows = {row["trigger_id"]: row for row in await night.ask("everything")}
    waits = {name: rows.pop(night.triggers[name]) for name in ("abandoned", "fresh", "overdue", "slow")}
    assert {name: wait["task_id"] for name, wait in waits.items()} == {name: name for name in waits}
    assert {name for name, wait in waits.items() if wait["timing"] == "late"} == {"overdue"}
    hosts = {name: wait["triggerer_hostname"] for name, wait in waits.items()}
    assert hosts == {"abandoned": "host-b", "fresh": None, "overdue": "host-a", "slow": "host-a"}
    assert rows.keys() == {night.stray}
    assert rows[night.stray]["task_id"] is None


async def test_a_wait_of_nobody_is_found(night: Night) -> None:
    assert [row["id"] for row in await night.ask("nobodys_triggers")] == [night.stray]


async def test_a_task_that_waited_was_not_started_before_it_was_queued(night: Night) -> None:
    [hour] = await night.ask("seconds_by_hour")
    assert hour["tasks"] == 1
    assert 10 <= hour["seconds"] < 60


async def test_long_waits_are_listed_the_longest_first(night: Night) -> None:
    rows = await night.ask("longer_than_an_hour")
    assert {row["task_id"] for row in rows} == {"abandoned", "overdue", "slow"}
    assert all(2 <= row["hours"] < 3 for row in rows)


async def test_what_nobody_alive_holds_is_free_to_take(night: Night) -> None:
    free = {row["id"] for row in await night.ask("free_to_take")}
    assert free == {night.triggers["fresh"], night.triggers["abandoned"], night.stray}


async def test_a_person_may_fail_overdue_waits_by_hand_and_the_engine_goes_on_from_there(night: Night) -> None:
    await night.ask("fail_the_overdue")
    assert set(await night.names("failing")) == {"broken", "overdue"}
    failing = [
        legs.FailedLeg(leg.id, leg.leg, "scheduled", None, "by hand") for leg in await views.failing(night.db, 9)
    ]
    assert len(await legs.fail(night.db, WHO, failing)) == 2


async def test_tidying_up_by_hand_removes_no_wait_of_a_deferred_task(night: Night) -> None:
    await night.ask("forget_ended_waits")
    await night.ask("delete_nobodys_triggers")
    assert set(await night.names("everything")) == {"abandoned", "fresh", "overdue", "slow"}


def test_every_query_is_read() -> None:
    text = Path(__file__).with_name("operators.sql").read_text()
    assert len(QUERIES) == text.count("-- name: ") == 17


async def test_no_query_is_refused_by_an_empty_database(connection: asyncpg.Connection) -> None:
    for query in QUERIES.values():
        assert len(await connection.fetch(query)) == 0
