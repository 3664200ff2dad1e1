"""`bide why`: each cause is brought about on a real database, and told in one sentence."""

import re

from bide.control.why import CAUSES, told
from bide.model.retry import RetryPolicy
from bide.model.states import TaskState
from tests.cli.person import Person
from tests.cli.why import ended, unstarted, waiting
from tests.cli.why.cases import EMPTY, TABLE
from tests.scheduler.town import NOW, Town, dag, task

MODULES = (unstarted, waiting, ended)
"""Importing them fills the table."""


async def test_every_cause_is_told_where_it_is_the_one(town: Town) -> None:
    wrong = []
    for state, cause, sentence, arrange in TABLE:
        await town.connection.execute(EMPTY)
        await town.connection.execute("update clock set frozen_at = $1", NOW)
        asked = await arrange(town)
        found = await told(town.db, "d", "run", asked, -1)
        plain = re.sub(r"\d+ on (here|town)", r"N on \1", found.sentence)
        if (found.state, found.cause) != (state, cause) or sentence not in plain:
            wrong.append(f"{state}, {cause}: {sentence}\n  was {found.state}, {found.cause}: {plain}")
        assert found.sentence.endswith(".")
        assert found.sentence.isprintable()
    assert "\n".join(wrong) == ""


def test_no_state_and_no_cause_is_left_out() -> None:
    assert CAUSES.keys() == set(TaskState)
    # Causes that several states share are the same everywhere.
    causes = {cause: state for state, of_state in CAUSES.items() for cause in of_state}
    told_of = {(state, name) for state, name, _, _ in TABLE}
    assert [
        cause.name
        for cause in causes
        if not any(cause in CAUSES[state] and cause.name == name for state, name in told_of)
    ] == []
    assert all(of_state[-1].holds(None) for of_state in CAUSES.values())  # type: ignore[arg-type]


async def test_a_person_asks_why(person: Person, town: Town) -> None:
    plan = dag("sales", task("a", retry=RetryPolicy()), task("b", "a"))
    await town.store(plan)
    await town.launch(plan)
    assert (await person.done("why", "sales", "latest", "a"))[0].startswith("none: Nothing moves, because no scheduler")
    said = (await person.says("why", "sales", "run", "a", "-o", "json")).json()
    assert (said["state"], said["cause"]) == ("none", "no scheduler")
    assert "did you mean 'sales'?" in await person.refused("why", "sale", "run", "a")
    assert "There is no task 'c' in sales" in await person.refused("why", "sales", "run", "c")
