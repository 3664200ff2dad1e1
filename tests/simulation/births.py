"""Words that make new task instances, whose ids nobody can know before: `launch`, `expand` and `adopt`."""

from collections.abc import Collection, Mapping
from typing import Any

from msgspec.structs import replace

from bide.model.instances import NewTask
from tests.simulation.ledger import Ledger, Task, Violation, Word

Newcomers = Mapping[tuple[int, str, int], NewTask]
"""By run, task and map index."""


async def take_in(hand: Any, ledger: Ledger, word: Word, answer: Any, changed: list[int]) -> Any:
    """Take what was born into the ledger, and give the answer without it; `changed` are the rows that bore it."""
    if word.verb == "expand":
        first, due = _expanded(ledger, word, changed)
        born = [*first, *await meet(hand, ledger, due)]
        if sorted(answer) != sorted(born):
            raise Violation("I1", f"expand answered {answer}; what came to be is {born}", changed)
        return changed
    if word.verb == "adopt":
        await meet(hand, ledger, _adopted(ledger, word, changed))
    return answer


async def meet(hand: Any, ledger: Ledger, due: Newcomers) -> list[int]:
    """Take new task instances into the ledger; they must be those that are due, and no others."""
    rows = await hand.fetch(
        "select id, dag_run_id, task_id, map_index from task_instance where dag_run_id = any ($1) order by id",
        sorted({run for run, _, _ in due}),
    )
    new = {(row["dag_run_id"], row["task_id"], row["map_index"]): row["id"] for row in rows}
    new = {key: id for key, id in new.items() if id not in ledger.tasks}
    if new.keys() != due.keys():
        raise Violation("I1", f"the tasks {sorted(new)} came to be; it must have been {sorted(due)}")
    for key, id in new.items():
        dag = ledger.runs[key[0]].dag
        ledger.tasks[id] = Task(id, key[0], dag, due[key], max_tries=due[key].retries)
    return sorted(new.values())


def _expanded(ledger: Ledger, word: Word, ids: Collection[int]) -> tuple[list[int], Newcomers]:
    """The instances that stood for all and are now the first, and those that come beside them."""
    numbers = {item.id: item.number for item in word.args[0]}
    first: list[int] = []
    due: dict[tuple[int, str, int], NewTask] = {}
    for task in (ledger.tasks[id] for id in ids):
        if task.facts.map_index < 0:
            task.facts = replace(task.facts, map_index=0)
            first.append(task.id)
        facts = task.facts
        there = {other.facts.map_index for other in ledger.of_run(task.run) if other.facts.task_id == facts.task_id}
        for index in set(range(numbers[task.id])) - there:
            due[task.run, facts.task_id, index] = replace(facts, map_index=index)
    return first, due


def _adopted(ledger: Ledger, word: Word, run_ids: Collection[int]) -> Newcomers:
    """The runs go on with another version: what it says of their tasks, and the tasks that it has besides."""
    _, version, timeout, tasks = word.args
    latest = {task.task_id: task for task in tasks}
    due: dict[tuple[int, str, int], NewTask] = {}
    for run in (ledger.runs[id] for id in run_ids):
        run.version, run.timeout, run.epoch = version, timeout, run.epoch + 1
        there = ledger.of_run(run.id)
        for task in there:
            facts = replace(latest[task.facts.task_id], map_index=task.facts.map_index)
            task.max_tries += facts.retries - task.facts.retries
            task.facts = facts
        known = {task.facts.task_id for task in there}
        due |= {(run.id, task.task_id, task.map_index): task for task in tasks if task.task_id not in known}
    return due
