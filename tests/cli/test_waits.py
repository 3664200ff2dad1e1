"""`bide waits`: who waits for what, and what a person may say about it."""

import asyncio
import io
import json
from datetime import timedelta
from typing import Any

import pytest
import yaml
from rich.console import Console

from bide.cli import wait_lines
from bide.control import waiting
from bide.model.retry import RetryPolicy
from bide.store import holding
from bide.store.holding import Parked
from bide.store.waits import WaitFilter, WaitPage
from tests.cli.person import Person
from tests.cli.test_completing import completed
from tests.cli.waits import TIMER, TRIGGER, defer, triggerer
from tests.process.eventually import eventually
from tests.scheduler.town import Town, dag, task

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
NAMES = ("held", "free", "parked", "timer", "late", "other")


@pytest.fixture
async def numbers(town: Town) -> dict[str, int]:
    """Six tasks of one run: held, free, parked, a timer, one whose time is over, one of another queue."""
    again = RetryPolicy(retries=1, delay=MINUTE)
    limits: dict[str, Any] = {"late": {"execution_timeout": 2 * HOUR}}
    plan = dag("sales", *(task(name, retry=again, **limits.get(name, {})) for name in NAMES))
    await town.store(plan)
    await town.launch(plan)
    found = await defer(
        town,
        held={"on_kill": True},
        parked={},
        free={},
        timer=TIMER,
        late={"timeout": MINUTE},
        other={"queue": "gpu", "classpath": "my.GpuTrigger", "timeout": 5 * HOUR},
    )
    holder = await triggerer(town)
    claims = await holding.claim(town.db, "test", holder, [""], 3)
    by_id = {claim.id: claim for claim in claims}
    await holding.park(town.db, "test", [Parked(found["parked"], by_id[found["parked"]].claim, "no such key", MINUTE)])
    free = [holding.Claim(id, claim.claim) for id, claim in by_id.items() if id == found["free"]]
    await holding.release(town.db, "test", holder, free, "leaves")
    await town.pass_time(timedelta(seconds=90))
    return found


async def tasks(person: Person, *options: str) -> list[str]:
    """Hear which tasks wait."""
    return [line["task_id"] for line in (await person.says("waits", "list", *options, "-o", "json")).json()]


async def test_waits_are_listed_with_who_holds_them(person: Person, town: Town, numbers: dict[str, int]) -> None:
    lines = await person.done("waits", "list")
    assert lines[0] == "wait dag run task waits for since until held by heartbeat queue"
    by_task = {line.split()[3]: line for line in lines[1:]}
    held = numbers["held"]
    silent = "on here, silent 1m 30s ago"
    assert by_task["held"].startswith(f"{held} sales run held HttpTrigger 1m 30s ")
    assert by_task["held"].endswith(silent)
    assert by_task["free"].endswith("1m 30s nobody")
    assert by_task["parked"].endswith("put aside: no such key")
    assert by_task["timer"].endswith("a timer, due in 2h 58m")
    assert "overdue for 30s nobody" in by_task["late"]
    assert by_task["other"].endswith("in 4h 58m nobody gpu")
    assert await tasks(person, "--dag", "sales", "--run", "latest") == await tasks(person)
    holder = str((await person.says("waits", "list", "--task", "held", "-o", "json")).json()[0]["triggerer_id"])
    for options, found in {
        ("--triggerer", holder): ["held"],
        ("--unclaimed",): ["free", "late", "other"],
        ("--overdue",): ["late"],
        ("--parked",): ["parked"],
        ("--queue", "gpu"): ["other"],
        ("--queue", "gpu", "--unclaimed"): ["other"],
        ("--class", "GpuTrigger"): ["other"],
        ("--class", "waits.*"): ["held", "free", "parked", "timer", "late"],
        ("--class", "puTrigger"): [],
        ("--dag", "sales", "--task", "timer"): ["timer"],
        ("--dag", "sales", "--overdue"): ["late"],
    }.items():
        assert sorted(await tasks(person, *options)) == sorted(found), options
    said = await person.says("waits", "list", "-n", "2")
    assert len(said.lines) == 3
    assert f"--after {sorted(numbers.values())[1]} goes on" in said.err
    rest = await person.done("waits", "list", "--after", str(sorted(numbers.values())[1]))
    assert len(rest) == 5
    status = await person.done("status")
    assert "waits 6 tasks: 1 held, 3 held by nobody, 1 timer, 1 put aside, 1 overdue" in status
    assert any(" 30s ago 1 of 1,000 here " in line for line in status if line.startswith("Triggerer"))
    shown = await person.done("waits", "show", str(held))
    assert f"held by {holder} {silent.removesuffix(' 1m 30s ago')}" in shown
    assert "task sales run held" in shown
    assert "until 2030-01-01 12:01:00Z, overdue for 30s" in await person.done("waits", "show", str(numbers["late"]))
    assert "say of which DAG" in await person.refused("waits", "list", "--run", "latest", code=2)
    told = yaml.safe_load((await person.says("waits", "show", str(held), "-o", "yaml")).out)
    assert told[0]["heartbeat_age"] == 90
    assert await completed(person, "waits", "fire", str(held)) == [str(held)]
    assert await completed(person, "waits", "list", "--dag", "sa") == ["sales"]
    person.patch.delenv("_BIDE_COMPLETE")
    assert "There is no wait 999" in await person.refused("waits", "show", "999")
    assert "did you mean 'sales'?" in await person.refused("waits", "list", "--dag", "sale")
    assert "did you mean 'run'?" in await person.refused("waits", "list", "--dag", "sales", "--run", "rn")
    assert "did you mean 'timer'?" in await person.refused("waits", "list", "--dag", "sales", "--task", "timr")


async def test_waits_are_fired_failed_and_cancelled(person: Person, town: Town, numbers: dict[str, int]) -> None:
    number = {name: str(id) for name, id in numbers.items()}
    said = await person.says("waits", "fire", number["free"], "--event", '{"$": 1, "ok": true}', typed="y\n")
    assert f"This will fire free of sales run, waiting for {TRIGGER}. Go on?" in said.out
    assert said.lines[-1].endswith("1 task fired.")
    row = await town.connection.fetchrow("select * from task_instance where task_id = 'free'")
    assert (row["state"], json.loads(row["next_kwargs"])["event"]) == ("scheduled", {"$$": 1, "ok": True})
    assert await person.done("waits", "fire", number["timer"], "-y") == ["1 task fired."]
    assert "it has ended, or never was" in await person.refused("waits", "fire", number["timer"], "-y")

    assert await person.done("waits", "fail", "--overdue", "--why", "no use", "-y") == ["1 task failed."]
    await town.rounds.go()
    assert (await town.states())["late"] == "up_for_retry"
    entry = await town.connection.fetchrow("select * from history where verb = 'fail_by_hand'")
    assert (entry["who"], entry["why"]) == ("ada (command line)", "no use")

    assert await person.done("waits", "cancel", number["held"], "--as", "skipped", "-y") == ["1 task skipped."]
    assert (await town.states())["held"] == "skipped"
    assert await town.connection.fetchval("select reason from kill") == "marked"
    said = await person.says("waits", "cancel", "--class", "*", typed="n\n")
    assert "This will cancel, as failed, 2 tasks of 1 DAG. Go on?" in said.out
    assert said.code == 1
    assert await tasks(person) == ["parked", "other"]
    assert await person.done("waits", "cancel", "--class", "*", "-y") == ["2 tasks failed."]
    assert await person.done("waits", "list") == []


async def test_what_makes_no_sense_is_refused_before_anybody_is_asked(person: Person, database: str) -> None:
    assert "say which" in await person.refused("waits", "fire", code=2)
    assert "not by both" in await person.refused("waits", "fire", "1", "--overdue", code=2)
    assert "The event is no JSON" in await person.refused("waits", "fire", "1", "--event", "done")
    assert "say either --by or --until" in await person.refused("waits", "extend", "1", code=2)
    assert "is no duration" in await person.refused("waits", "extend", "1", "--by", "soon", code=2)
    assert await person.done("waits", "fail", "--parked", "-y") == ["There are no such waits."]


async def test_waits_are_extended_as_far_as_other_deadlines_let_them(
    person: Person, town: Town, numbers: dict[str, int]
) -> None:
    async def timeouts() -> dict[str, str]:
        lines = (await person.says("waits", "list", "-o", "json")).json()
        return {line["task_id"]: line["trigger_timeout"] for line in lines if line["trigger_timeout"]}

    said = await person.says("waits", "extend", "--class", "*", "--by", "1h", "-y")
    assert said.lines == ["2 waits extended, until 2030-01-01 18:00:00Z at the latest."]
    assert "4 waits cannot be extended: it has no timeout." in said.err
    # What is overdue goes on from now.
    assert await timeouts() == {"late": "2030-01-01T13:01:30Z", "other": "2030-01-01T18:00:00Z"}
    said = await person.says("waits", "extend", str(numbers["late"]), "--until", "2030-01-01T20:00", "-y")
    assert said.lines == ["1 wait extended, until 2030-01-01 14:00:00Z."]
    assert "1 wait can be extended only as far as execution_timeout allows." in said.err
    said = await person.says("waits", "extend", str(numbers["late"]), "--by", "30m", "-y")
    assert (said.lines, "cannot be extended: execution_timeout." in said.err) == (["Nothing was changed."], True)
    said = await person.says("waits", "extend", str(numbers["other"]), "--until", "2030-01-01T17:00", "-y")
    assert "cannot be extended: it ends later already." in said.err


async def test_waits_are_watched_as_they_come_and_go(person: Person, town: Town, numbers: dict[str, int]) -> None:
    async def look() -> WaitPage:
        return await waiting.page(town.db, WaitFilter(dag_id="sales"), 0, 100)

    lines, moving = io.StringIO(), io.StringIO()
    screen = Console(file=moving, force_terminal=True, width=200, height=7)
    watchers = [
        asyncio.create_task(wait_lines.watch(look, Console(file=lines, width=200))),
        asyncio.create_task(wait_lines.watch(look, screen)),
    ]
    await eventually(lambda: "a timer" in lines.getvalue() and "and 3 waits more" in moving.getvalue())
    await person.done("waits", "cancel", "--task", "timer", "-y")
    await eventually(lambda: "sales run timer waits.TimeTrigger: gone from the list" in lines.getvalue())
    await eventually(lambda: "and 2 waits more" in moving.getvalue())
    for watcher in watchers:
        watcher.cancel()
