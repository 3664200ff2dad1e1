"""Follows the history entry by entry: each must begin where the last one about its row ended, and be legal."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from bide.model.states import RunState, TaskState
from bide.model.transitions import HOLDER_VERBS, RUN_VERBS, VERBS
from tests.simulation.calls import call_effects
from tests.simulation.effects import TaskEffects, count_the_turn, kill_effects, rewritten, run_effects, wait_effects
from tests.simulation.ledger import Ledger, Run, Task, Violation, Word

Entry = Mapping[str, Any]
RUN_TABLE = {verb.name: verb for verb in RUN_VERBS}
SUBJECTS = {verb.name: verb.subject for verb in HOLDER_VERBS}
HANDS_OUT_ROOM = {"enqueue", "defer_at_start"}
BIRTHS = {"launch", "register"}
BEARS = {"adopt", "expand"}


def follow(ledger: Ledger, word: Word, entries: Sequence[Entry]) -> list[int]:
    """Take what a word wrote into the history into the ledger, and give the ids of the rows that it changed."""
    ids, steps, reopened = [], [], []
    effects = TaskEffects(ledger, word)
    count_the_turn(ledger, word)
    for entry in entries:
        _check_signature(ledger, word, entry)
        if entry["verb"] in VERBS:
            ids.append(_follow_task(ledger, effects, entry))
            steps.append((ledger.tasks[ids[-1]], TaskState(entry["from_state"])))
        elif entry["verb"] == "reopen":
            reopened.append(entry)
        elif entry["verb"] in RUN_TABLE:
            _follow_run(ledger, entry)
            ids.append(entry["dag_run_id"])
        elif entry["verb"] in BEARS:
            ids.append(entry["dag_run_id"] if entry["verb"] == "adopt" else entry["task_instance_id"])
        elif entry["verb"] not in BIRTHS:
            ids.append(_follow_holder(ledger, word, entry))
    if word.verb in ("clear", "mark"):
        _follow_reopened(ledger, reopened, rewritten(ledger, word.verb, steps))
    if word.verb in HANDS_OUT_ROOM:
        check_room(ledger, ids)
    if word.verb == "begin":
        _check_active_runs(ledger)
    return sorted(ids)


def _check_signature(ledger: Ledger, word: Word, entry: Entry) -> None:
    if entry["at"] != ledger.now or entry["who"] != word.who:
        raise Violation("I10", f"{word.verb} by {word.who} signed as {entry['who']} at {entry['at']}")
    if entry["verb"] != word.verb and not (entry["verb"] == "reopen" and word.verb in ("clear", "mark")):
        raise Violation("I10", f"{word.verb} wrote {entry['verb']} into the history")


def _follow_task(ledger: Ledger, effects: TaskEffects, entry: Entry) -> int:
    task, verb = ledger.tasks[entry["task_instance_id"]], VERBS[entry["verb"]]
    before, after = TaskState(entry["from_state"]), TaskState(entry["to_state"])
    if before is not task.state:
        raise Violation("I10", f"{verb.name} says that it left {before}; the last entry said {task.state}", [task.id])
    if not verb.allows(before, after):
        raise Violation("I10", f"{verb.name} led from {before} to {after}, which the table does not allow", [task.id])
    if entry["leg"] != task.leg + verb.new_leg:
        raise Violation("I4", f"{verb.name} left leg {entry['leg']} after leg {task.leg}", [task.id])
    task.state, task.leg = after, entry["leg"]
    effects.apply(task, before, entry["trigger_id"], entry["why"])
    if entry["try_number"] != task.tries:
        raise Violation("I10", f"{verb.name} left try {entry['try_number']}, not {task.tries}", [task.id])
    return task.id


def _follow_run(ledger: Ledger, entry: Entry) -> None:
    run, verb = ledger.runs[entry["dag_run_id"]], RUN_TABLE[entry["verb"]]
    before, after = RunState(entry["from_state"]), RunState(entry["to_state"])
    if before is not run.state or after not in verb.moves.get(before, ()):
        raise Violation("I10", f"{verb.name} led run {run.id} from {before} to {after}; it was {run.state}")
    run.state = after
    run_effects(ledger, run.id, verb.name)


def _follow_reopened(ledger: Ledger, entries: Sequence[Entry], expected: Sequence[int]) -> None:
    if sorted(entry["dag_run_id"] for entry in entries) != sorted(expected):
        raise Violation("I10", f"the runs {expected} must be reopened; the history says {entries}")
    for entry in entries:
        _follow_run(ledger, entry)


def _follow_holder(ledger: Ledger, word: Word, entry: Entry) -> int:
    subject = SUBJECTS[word.verb]
    if subject == "job":
        job = ledger.jobs[entry["job_id"]]
        job.state = entry["to_state"]
        job.suspected_at = ledger.now if word.verb == "suspect" else None
        return job.id
    if subject == "callback":
        call = ledger.calls[entry["callback_id"]]
        call_effects(ledger, call, word)
        if entry["claim"] != call.claim:
            raise Violation("I4", f"{word.verb} left claim {entry['claim']} on callback {call.id}, not {call.claim}")
        return call.id
    id: int = entry["trigger_id"]
    if subject == "wait":
        wait = ledger.waits.get(id)
        if wait is None:
            raise Violation("I1", f"{word.verb} about wait {id}, which is over")
        wait_effects(ledger, wait, word)
        claim = wait.claim
    else:
        kill = ledger.kills.get(id)
        if kill is None:
            raise Violation("I1", f"{word.verb} about the on_kill of wait {id}, which nobody asked for")
        kill_effects(ledger, kill, word)
        claim = kill.claim
    if entry["claim"] != claim:
        raise Violation("I4", f"{word.verb} left claim {entry['claim']} on wait {id}, not {claim}")
    return id


def tasks_behind(ledger: Ledger, verb: str, ids: Collection[int]) -> list[int]:
    """The task instances that a word about these rows was about."""
    if verb in VERBS or verb == "expand":
        return sorted(ids)
    if SUBJECTS.get(verb) == "callback":
        return sorted({ledger.calls[id].task for id in ids if id in ledger.calls})
    rows: Mapping[str, Callable[[Task], int | None]] = {
        "wait": lambda task: task.last_wait,
        "kill": lambda task: task.last_wait,
        "job": lambda task: task.worker,
        "run": lambda task: task.run,
    }
    row_of = rows[SUBJECTS.get(verb, "run")]
    return sorted(task.id for task in ledger.tasks.values() if row_of(task) in ids)


def check_room(ledger: Ledger, ids: Sequence[int]) -> None:
    """Nobody was given room that was not there."""
    busy = [task for task in ledger.tasks.values() if task.busy]
    for task in (ledger.tasks[id] for id in ids):
        facts = task.facts
        slots, include_deferred = ledger.pools[facts.pool]
        takes_slots = task.busy or include_deferred
        if takes_slots and ledger.slots_taken(facts.pool) > slots:
            raise Violation("I7", f"pool {facts.pool} has {slots} slots and more are taken", [task.id])
        if not task.busy:
            continue
        same_run = [other for other in busy if other.run == task.run]
        same_task = [other for other in busy if (other.dag, other.facts.task_id) == (task.dag, facts.task_id)]
        for limit, others, of in (
            (ledger.max_active_tasks[task.dag], same_run, "its run"),
            (facts.max_active_tis_per_dag, same_task, "its task"),
            (facts.max_active_tis_per_dagrun, [o for o in same_task if o.run == task.run], "its task in this run"),
        ):
            if limit is not None and len(others) > limit:
                raise Violation("I7", f"{len(others)} of {of} are at work, {limit} may be", [task.id])


def _check_active_runs(ledger: Ledger) -> None:
    running: dict[str, list[Run]] = {}
    for run in ledger.runs.values():
        if run.state is RunState.RUNNING:
            running.setdefault(run.dag, []).append(run)
    for dag, runs in running.items():
        if len(runs) > ledger.max_active_runs[dag]:
            raise Violation("I7", f"{len(runs)} runs of {dag} are active, {ledger.max_active_runs[dag]} may be")
