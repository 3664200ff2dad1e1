"""What a word's answer must say: the rows that the history tells of, as they are afterwards."""

from typing import Any

from msgspec.structs import replace

from bide.model.plan import Callback
from bide.model.transitions import RUN_VERBS, TASK_VERBS, Fence
from bide.store.callbacks import Call as CallKey
from bide.store.callbacks import Taken
from bide.store.holding import Claim, Claimed, Kill
from bide.store.legs import Started
from bide.store.rows import Changed
from bide.store.runs import ChangedRun
from tests.simulation.effects import decoded
from tests.simulation.follow import tasks_behind
from tests.simulation.ledger import Ledger, Violation, Word

FENCES = {verb.name: verb.fence for verb in TASK_VERBS} | {verb.name: verb.fence for verb in RUN_VERBS}


def check_answer(ledger: Ledger, word: Word, answer: Any, changed: list[int], expected: list[int]) -> None:
    """Hold an answer against the history that it left, against the fences, and against the ledger."""
    answered = answered_ids(answer, word)
    if answered != changed:
        raise Violation(
            "I10",
            f"{word.verb} by {word.who} answered {answered} and wrote of {changed}",
            tasks_behind(ledger, word.verb, {*answered, *changed}),
        )
    if answered != expected:
        raise Violation(
            _broken_rule(word, answered, expected),
            f"{word.verb} by {word.who} changed {answered}; by its fence it must change {expected}: {word}",
            tasks_behind(ledger, word.verb, {*answered, *expected}),
        )
    for row in answer if isinstance(answer, list) else ():
        known = _as_known(ledger, row)
        if row != known:
            raise Violation(
                "I2" if isinstance(row, Started) else "I10",
                f"{word.verb} by {word.who} answered {row}; it must be {known}",
                tasks_behind(ledger, word.verb, answered),
            )


def answered_ids(answer: Any, word: Word) -> list[int]:
    """The rows that an answer is about."""
    if isinstance(answer, bool):
        return [word.args[0]] if answer else []
    return sorted(row if isinstance(row, int) else _id_of(row) for row in answer)


def _id_of(row: Any) -> int:
    about: Any = row.call if isinstance(row, Taken) else row
    id: int = getattr(about, "id", None) or about.trigger_id
    return id


def _broken_rule(word: Word, changed: list[int], expected: list[int]) -> str:
    """The invariant that a wrong answer breaks: something stale was heard, or something due was not."""
    fence = FENCES.get(word.verb)
    if fence is Fence.DATE:
        return "I6"
    if set(changed) <= set(expected):
        return "I5"
    return "I7" if fence is Fence.TURN else "I4"


def _as_known(ledger: Ledger, row: Any) -> Any:
    """A row as the ledger has it."""
    match row:
        case Changed():
            task = ledger.tasks[row.id]
            return Changed(task.id, task.run, task.state, task.leg, task.tries)
        case Started():
            task = ledger.tasks[row.id]
            return replace(
                row,
                leg=task.leg,
                dag_run_id=task.run,
                task_id=task.facts.task_id,
                map_index=task.facts.map_index,
                try_number=task.tries,
                max_tries=task.max_tries,
                next_method=task.method,
                next_kwargs=row.next_kwargs if decoded(row.next_kwargs) == task.kwargs else repr(task.kwargs),
                try_time_left=task.try_deadline and task.try_deadline - ledger.now,
                sensor_time_left=task.sensor_deadline and task.sensor_deadline - ledger.now,
            )
        case Claimed():
            wait = ledger.waits[row.id]
            return replace(row, claim=wait.claim, on_kill=wait.on_kill)
        case Claim() if row.id in ledger.waits:
            return Claim(row.id, ledger.waits[row.id].claim)
        case Kill():
            kill = ledger.kills[row.trigger_id]
            return replace(
                row,
                claim=kill.claim,
                task_instance_id=kill.task,
                reason=kill.reason,
                time_left=kill.deadline - ledger.now,
            )
        case Taken():
            call = ledger.calls[row.call.id]
            started = replace(row.started, id=call.task, try_number=call.tries)
            return replace(row, call=CallKey(call.id, call.claim), kind=Callback(call.kind), started=started)
        case CallKey():
            return CallKey(row.id, ledger.calls[row.id].claim)
        case ChangedRun():
            return ChangedRun(row.id, ledger.runs[row.id].state)
    return row
