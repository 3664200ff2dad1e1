"""Callbacks: they are born with the ends that they tell of, taken up by workers, and freed when these are gone."""

from collections import Counter
from typing import Any

from bide.store.callbacks import EndedCall
from tests.simulation.ledger import Call, Ledger, Violation, Word

MOST_CLAIMS = 3


async def meet_calls(hand: Any, ledger: Ledger) -> None:
    """Take new callbacks into the ledger; they must be those that the last word has announced, and no others."""
    rows = await hand.fetch(
        "select id, task_instance_id, callback_type, try_number, queue from callback where id > $1 order by id",
        max(ledger.calls, default=0),
    )
    born = Counter((row["task_instance_id"], row["callback_type"], row["try_number"]) for row in rows)
    known = Counter((call.task, call.kind, call.tries) for call in ledger.calls.values())
    if born + known != +ledger.callbacks:
        raise Violation("I2", f"the callbacks {dict(born)} came to be", [task for task, _, _ in born])
    for row in rows:
        task = row["task_instance_id"]
        if row["queue"] != ledger.tasks[task].facts.queue:
            raise Violation("I2", f"callback {row['id']} is for the queue {row['queue']}", [task])
        ledger.calls[row["id"]] = Call(row["id"], task, row["callback_type"], row["try_number"], row["queue"])


def call_effects(ledger: Ledger, call: Call, word: Word) -> None:
    """A callback after a verb."""
    match word.verb:
        case "take_callback":
            job, _queues, _limit, within = word.args
            call.state, call.claim = "running", call.claim + 1
            call.holder, call.deadline = job, ledger.now + within
        case "end_callback":
            # Where one was heard that must not have been, that is noticed by the answer.
            items = sorted(word.args[0], key=lambda item: item.claim == call.claim)
            said: dict[int, EndedCall] = {item.id: item for item in items}
            call.state, call.deadline = "failed" if said[call.id].error else "success", None
        case "free_callback":
            call.state = "failed" if call.claim >= word.args[0] else "pending"
            call.claim, call.deadline = call.claim + 1, None
