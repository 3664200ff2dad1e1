"""Somebody comes in between: after the scheduler has looked, and right before it says what follows from that."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import asyncpg
import pytest

from bide.model.outcome import Failed, Outcome, Succeeded
from bide.model.plan import MapInput, MapPlan, MapSource
from bide.model.states import TaskState
from bide.model.trigger_rules import TriggerRule as Rule
from bide.scheduler.rounds import Rounds
from bide.sql import statement
from bide.store.database import Database, session_settings
from bide.store.legs import Started
from tests.race.ring import Line
from tests.scheduler.town import PATIENCE, WRITER, Town, dag, new_town, task


class Interrupted(Line):
    """The scheduler's way to the database, on which somebody else is served right before some statement, once."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection, {})
        self._before: dict[str, Callable[[], Awaitable[None]]] = {}

    def before(self, verb: str, act: Callable[[], Awaitable[None]]) -> None:
        self._before[statement(verb).text] = act

    async def fetch(self, text: str, *arguments: Any) -> list[asyncpg.Record]:
        if act := self._before.pop(text, None):
            await act()
        return await super().fetch(text, *arguments)


@pytest.fixture
async def line(database: str) -> AsyncIterator[Interrupted]:
    connection = await asyncpg.connect(database, server_settings=session_settings(10))
    yield Interrupted(connection)
    await connection.close()


@pytest.fixture
async def town(line: Interrupted, database: str) -> AsyncIterator[Town]:
    connection = await asyncpg.connect(database)
    yield await new_town(Database(cast(Any, line), 5), connection)
    await connection.close()


async def test_a_mapped_task_whose_expansion_is_refused_is_expanded_later(town: Town, line: Interrupted) -> None:
    over = MapPlan(inputs=(MapInput(name="x", sources=(MapSource(task_id="list"),)),))
    plan = dag("d", task("other"), task("list", "other"), task("each", "list", mapped=over))
    await town.store(plan)
    await town.launch(plan)
    line.before("expand", lambda: town.clear("other"))
    await town.play({"list": Succeeded({"return_value": json.dumps([1, 2])})})
    assert town.ran == ["other", "list", "other", "each[0]", "each[1]"]
    assert await town.run_states() == {"run": "success"}


@pytest.mark.parametrize(
    ("verb", "rule", "end"),
    [
        ("ready", Rule.ALL_SUCCESS, TaskState.SUCCESS),
        ("pass_empty", Rule.ALL_SUCCESS, TaskState.SUCCESS),
        ("block", Rule.ALL_SUCCESS, TaskState.UPSTREAM_FAILED),
        ("skip_unstarted", Rule.ALL_FAILED, TaskState.SKIPPED),
    ],
)
async def test_what_is_refused_is_said_again(
    town: Town, line: Interrupted, verb: str, rule: Rule, end: TaskState
) -> None:
    after = task("after", "before", trigger_rule=rule, is_empty=verb == "pass_empty")
    plan = dag("d", task("other"), task("before", "other"), after)
    await town.store(plan)
    await town.launch(plan)

    def ends(_: Started) -> Outcome:
        line.before(verb, lambda: town.clear("other"))
        return Failed("no") if verb == "block" else Succeeded()

    await town.play({"before": ends})
    assert town.ran[:3] == ["other", "before", "other"]
    assert (await town.states())["after"] == end


@pytest.mark.parametrize("limit", [500, 2])
async def test_a_failure_stops_all_the_rest_whoever_comes_in_between(line: Interrupted, town: Town, limit: int) -> None:
    town.rounds = Rounds(town.db, lambda _: None, WRITER, "scheduler", PATIENCE, limit)
    rest = [task(f"b{number}", "a", trigger_rule=Rule.ALL_DONE) for number in range(5)]
    plan = dag("d", task("other"), task("a", "other"), *rest, fail_fast=True)
    await town.store(plan)
    await town.launch(plan)
    line.before("stop", lambda: town.clear("other"))
    await town.play({"a": Failed("no")})
    assert town.ran == ["other", "a"]
    assert await town.run_states() == {"run": "failed"}
