"""`bide tasks logs`: what a try has written, and what it writes."""

import asyncio
from datetime import timedelta

from bide.model.outcome import Failed, Succeeded
from bide.model.plan import DagPlan
from bide.model.retry import RetryPolicy
from bide.store import legs, records, views
from bide.store.legs import Started
from bide.store.records import NewChunk
from bide.store.rows import Leg
from tests.cli.person import Person
from tests.process.eventually import eventually
from tests.scheduler.town import WHO, Town, dag, task

LOGS = ("tasks", "logs", "sales", "run", "extract")


async def write(town: Town, task_id: str, try_number: int, *texts: str) -> None:
    """Write to the log of a task, as its worker does."""
    (id,) = await town.ids(task_id)
    await records.append_log(town.db, [NewChunk(id, try_number, 1, text) for text in texts])


async def begun(town: Town) -> Started:
    """Let the first task begin."""
    await town.rounds.go()
    offered = await views.offered(town.db, ["default"], 1)
    (started,) = await legs.start(town.db, WHO, town.worker, offered)
    return started


async def test_the_log_of_the_latest_try_is_printed_as_it_was_written(
    person: Person, town: Town, sales: DagPlan
) -> None:
    await town.play()
    await write(town, "extract", 1, "first\nsec", "ond\n", "\x1b[1mbold\x1b[0m no newline")
    said = await person.says(*LOGS)
    assert (said.code, said.out, said.err) == (0, "first\nsecond\n\x1b[1mbold\x1b[0m no newline", "")


async def test_earlier_tries_can_be_read(person: Person, town: Town) -> None:
    plan = dag("sales", task("extract", retry=RetryPolicy(retries=1, delay=timedelta(minutes=5))))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"extract": Failed("no")})
    await town.pass_time(timedelta(minutes=5))
    await write(town, "extract", 1, "one\n")
    # The second try has written nothing yet, so the latest log is the first one.
    assert (await person.says(*LOGS)).out == "one\n"
    await town.play()
    await write(town, "extract", 2, "two\n")
    assert (await person.says(*LOGS)).out == "two\n"
    assert (await person.says(*LOGS, "--try", "1")).out == "one\n"
    assert "has not begun its try 3; -f waits for it" in await person.refused(*LOGS, "--try", "3")


async def test_a_task_that_has_written_nothing_says_so(person: Person, town: Town, sales: DagPlan) -> None:
    assert "is none and has not begun its try 1" in await person.refused(*LOGS)
    await town.play()
    said = await person.says(*LOGS)
    assert (said.code, said.out, said.err) == (0, "", "Try 1 of 'extract' has written nothing.\n")


async def test_a_log_is_followed_until_the_task_ends(person: Person, town: Town, sales: DagPlan) -> None:
    follower = asyncio.create_task(person.says(*LOGS, "--follow"))
    started = await begun(town)
    await write(town, "extract", 1, "first\n")
    await eventually(lambda: person.heard == "first\n")
    await write(town, "extract", 1, "second\n")
    await eventually(lambda: person.heard == "first\nsecond\n")
    await legs.succeed(town.db, WHO, [Leg(started.id, started.leg)], [])
    # What comes late is still shown.
    await write(town, "extract", 1, "third\n")
    said = await follower
    assert (said.code, said.out) == (0, "first\nsecond\nthird\n")
    assert said.err == "extract ended as success 2030-01-01 12:00:00Z.\n"


async def test_following_goes_on_with_the_next_try(person: Person, town: Town) -> None:
    plan = dag("sales", task("extract", retry=RetryPolicy(retries=1, delay=timedelta(minutes=5))))
    await town.store(plan)
    await town.launch(plan)
    await town.play({"extract": Failed("no")})
    await write(town, "extract", 1, "one\n")
    follower = asyncio.create_task(person.says(*LOGS, "-f"))
    await eventually(lambda: person.heard == "one\n")
    await town.pass_time(timedelta(minutes=5))
    await write(town, "extract", 2, "two\n")
    await town.play({"extract": Succeeded()})
    said = await follower
    assert said.out == "one\ntwo\n"
    assert said.err.splitlines() == ["Try 2:", "extract ended as success 2030-01-01 12:05:00Z."]
