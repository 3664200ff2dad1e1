"""`bide triggers`: one run alone with its steps before one's eyes, and the busiest of those that run."""

import sys
from pathlib import Path

import pytest

from bide.store.usage import Use, report_use
from tests.cli.person import Person
from tests.cli.waits import claimed, defer
from tests.scheduler.town import Town, dag, task

CODE = """
import asyncio
import threading

from bide import BaseTrigger, TaskSkippedEvent, TriggerEvent


class Counts(BaseTrigger):
    def __init__(self, until):
        self.until = until

    async def run(self):
        for _ in range(self.until):
            await asyncio.sleep(0)
        threading.Event().wait(0.3)
        self.log.info("counted")
        yield TriggerEvent({"until": self.until})
        yield TaskSkippedEvent(reason="enough")
        raise ValueError("after that")

    async def cleanup(self):
        self.log.info("tidy")


class Sleeps(BaseTrigger):
    async def run(self):
        await asyncio.Event().wait()
        yield
"""


@pytest.fixture
def author(newcomer: Person, tmp_path: Path) -> Person:
    """Somebody with a module and a DAG file that have triggers."""
    newcomer.patch.setattr(sys, "path", list(sys.path))
    (tmp_path / "dags").mkdir()
    (tmp_path / "counting.py").write_text(CODE)
    (tmp_path / "dags" / "counting_dag.py").write_text(CODE)
    return newcomer


def test_a_trigger_runs_alone_before_ones_eyes(author: Person, tmp_path: Path) -> None:
    said = author.say("triggers", "run", "counting.Counts", '{"until": 3}')
    assert said.code == 0
    happened = [line.partition("s ")[2] for line in said.lines]
    assert happened[0] == "Counts was made"
    assert 'event: {"until":3}; the task goes on with it' in happened
    assert "it has cleaned up" in happened
    (blocked,) = [line for line in happened if "all other triggers would have to wait" in line]
    assert f"{tmp_path}/counting.py:15 in run" in blocked
    assert len([line for line in happened if line.startswith("step ")]) >= 4
    assert said.lines[-1].split()[1].startswith("step")
    assert "counted" in said.err
    assert "tidy" in said.err


def test_a_trigger_of_a_dag_file_may_go_on_after_its_first_event(author: Person) -> None:
    said = author.say("triggers", "run", "bide_dags.counting_dag.Counts", '{"until": 300}', "--all")
    assert (said.code, "Of further steps only those of more than 10ms." in said.lines) == (0, True)
    assert any(line.endswith("event: the task ends as skipped: enough") for line in said.lines)
    assert any(line.endswith("it has failed: ValueError: after that") for line in said.lines)


def test_a_trigger_is_stopped_and_cleans_up(author: Person) -> None:
    said = author.say("triggers", "run", "counting.Sleeps", "--timeout", "0s")
    assert said.code == 1
    assert said.lines[-1] == "It was stopped before it has yielded an event."


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("counting.Nope",), "There is no trigger counting.Nope"),
        (("counting_dag.Counts",), "as in bide_dags.sales.MyTrigger"),
        (("counting.Counts", '{"upto": 3}'), "Counts does not take these arguments; it takes (until)."),
        (("counting.Counts", "[3]"), "The arguments of a trigger are a JSON object"),
        (("counting.Counts", "{"), "A stored value is no JSON"),
    ],
)
def test_what_cannot_be_run_is_refused_in_a_sentence(author: Person, words: tuple[str, ...], why: str) -> None:
    said = author.say("triggers", "run", *words)
    assert said.code == 1
    assert why in said.err


async def test_the_busiest_triggers_are_shown_those_that_did_harm_first(person: Person, town: Town) -> None:
    plan = dag("sales", task("calm"), task("busy"), task("harmful"))
    await town.store(plan)
    await town.launch(plan)
    waits = await defer(town, calm={}, busy={}, harmful={})
    number = await claimed(town)
    uses = [
        Use(waits["busy"], 7, 4000, 2.5, 0.0004, 0, ""),
        Use(waits["harmful"], 8, 3, 0.9, 0.8, 1, "its step took 0.8 s"),
    ]
    await report_use(town.db, number, uses)
    assert await person.done("triggers", "top") == [
        "wait trigger busy steps longest strikes dag task triggerer pid harm",
        f"{waits['harmful']} HttpTrigger 900ms 3 800ms 1 sales harmful {number} 8 its step took 0.8 s",
        f"{waits['busy']} HttpTrigger 2.5s 4,000 400µs sales busy {number} 7",
    ]
    told = (await person.says("triggers", "top", "-o", "json")).json()
    assert [one["task_id"] for one in told] == ["harmful", "busy"]
    assert "needs a terminal" in await person.refused("triggers", "top", "--watch")
