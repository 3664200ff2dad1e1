"""The independent checker: it reads the tables and the history, and nothing of the engine but the transition table."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bide.model.states import TaskState
from bide.model.transitions import HOLDER_VERBS, RUN_VERBS, VERBS
from tests.simulation.effects import decoded
from tests.simulation.ledger import Ledger, Task, Violation

Row = Mapping[str, Any]
# What ends a leg that a worker runs, and what ends a wait.
LEG_OUTCOMES = {"succeed", "skip", "fail", "reschedule", "defer", "drain"}
WAIT_OUTCOMES = {"fire", "fire_due", "end", "crash", "lapse", "fire_by_hand", "fail_by_hand", "cancel"}


async def check_tables(hand: Any, ledger: Ledger) -> None:
    """Hold every table against the invariants, then against the ledger."""
    tasks = await hand.fetch("select * from task_instance order by id")
    waits = await hand.fetch("select * from trigger order by id")
    others = await hand.fetch(
        "select trigger_id from asset_watcher union all select trigger_id from callback where trigger_id is not null"
    )
    kills = await hand.fetch("select * from kill order by trigger_id")
    check_waits(tasks, waits, {row["trigger_id"] for row in others})
    check_pools(ledger, tasks)
    for row in tasks:
        compare_task(ledger.tasks[row["id"]], row)
    compare_waits(ledger, waits, kills)
    await _compare_the_rest(hand, ledger)


def check_waits(tasks: Sequence[Row], waits: Sequence[Row], others: set[int]) -> None:
    """I1: every deferred task has a live trigger, and every trigger has somebody who waits for it."""
    live = {row["id"] for row in waits}
    waited_for = {row["trigger_id"] for row in tasks if row["state"] == "deferred"}
    for row in tasks:
        if row["state"] == "deferred" and row["trigger_id"] not in live:
            raise Violation("I1", f"task {row['id']} waits for {row['trigger_id']}, which is gone", [row["id"]])
        if (row["state"] in ("running", "shutdown")) and row["worker_id"] is None:
            raise Violation("I1", f"task {row['id']} is {row['state']} on no worker", [row["id"]])
    for row in waits:
        by_hand = row["classpath"] == "by.Hand"
        if row["id"] not in waited_for and row["id"] not in others and not by_hand:
            former = [task["id"] for task in tasks if task["trigger_id"] == row["id"]]
            raise Violation("I1", f"nobody waits for trigger {row['id']}", former)


def check_pools(ledger: Ledger, tasks: Sequence[Row]) -> None:
    """I7: no pool is over its slots."""
    taken: Counter[str] = Counter()
    for row in tasks:
        keeps = ledger.pools[row["pool"]][1] and row["state"] == "deferred"
        if row["state"] == "queued" or row["worker_id"] is not None or keeps:
            taken[row["pool"]] += row["pool_slots"]
    for name, slots in taken.items():
        if slots > ledger.pools[name][0]:
            raise Violation("I7", f"{slots} slots of pool {name} are taken, it has {ledger.pools[name][0]}")


def compare_task(task: Task, row: Row) -> None:
    """Every column that a verb may touch is what the history makes it."""
    expected = {
        "state": task.state,
        "leg": task.leg,
        "try_number": task.tries,
        "max_tries": task.max_tries,
        "retries": task.facts.retries,
        "map_index": task.facts.map_index,
        "worker_id": task.worker,
        "child_leg": task.child_leg,
        "waits_for": task.wait,
        "trigger_id": task.last_wait,
        "next_method": task.method,
        "trigger_timeout": task.wait_deadline,
        "try_deadline": task.try_deadline,
        "sensor_deadline": task.sensor_deadline,
        "wake_at": task.wake_at,
    }
    for column, value in expected.items():
        if row[column] != value:
            raise Violation(
                "I10", f"task {task.id} has {column} {row[column]!r}; the history makes it {value!r}", [task.id]
            )
    if (row["start_date"] is not None) != task.opened:
        raise Violation("I10", f"task {task.id} has start_date {row['start_date']}", [task.id])
    try:
        kwargs = decoded(row["next_kwargs"])
    except ValueError as error:
        raise Violation("I2", f"task {task.id} goes on with {error}", [task.id]) from error
    if kwargs != task.kwargs:
        raise Violation("I2", f"task {task.id} goes on with {kwargs}; it must be {task.kwargs}", [task.id])


def compare_waits(ledger: Ledger, waits: Sequence[Row], kills: Sequence[Row]) -> None:
    """Who holds what, by which claim, until when; and which on_kill is asked for, of whom, why, until when."""

    def tasks_of(wait: Any) -> list[int]:
        return [task.id for task in ledger.tasks.values() if task.last_wait == wait]

    _same(
        ("I1", "waits", tasks_of),
        {
            row["id"]: (row["claim"], row["triggerer_id"], row["due_at"], row["parked_until"], row["shared_key"])
            for row in waits
        },
        {
            wait.id: (wait.claim, wait.holder, wait.due, wait.parked_until, wait.shared_key)
            for wait in ledger.waits.values()
        },
    )
    columns = ("task_instance_id", "claim", "triggerer_id", "taken", "reason", "deadline")
    _same(
        ("I1", "kills", tasks_of),
        {row["trigger_id"]: tuple(row[column] for column in columns) for row in kills},
        {
            kill.trigger: (kill.task, kill.claim, kill.holder, kill.taken, kill.reason, kill.deadline)
            for kill in ledger.kills.values()
        },
    )


async def _compare_the_rest(hand: Any, ledger: Ledger) -> None:
    runs = await hand.fetch("select id, state, epoch, dag_version_id, timeout_at from dag_run")
    _same(
        ("I10", "runs", lambda id: [task.id for task in ledger.of_run(id)]),
        {row["id"]: (row["state"], row["epoch"], row["dag_version_id"], row["timeout_at"]) for row in runs},
        {run.id: (run.state, run.epoch, run.version, run.timeout_at) for run in ledger.runs.values()},
    )
    jobs = await hand.fetch("select id, state, suspected_at, latest_heartbeat from job")
    _same(
        ("I10", "jobs", lambda id: [task.id for task in ledger.tasks.values() if task.worker == id]),
        {row["id"]: (row["state"], row["suspected_at"], row["latest_heartbeat"]) for row in jobs},
        {job.id: (job.state, job.suspected_at, job.heartbeat) for job in ledger.jobs.values()},
    )
    xcoms = await hand.fetch(
        "select t.id, x.key, x.value from xcom x join task_instance t using (dag_id, run_id, task_id, map_index)"
    )
    _same(
        ("I2", "XComs", lambda key: [key[0]]),
        {(row["id"], row["key"]): decoded(row["value"]) for row in xcoms},
        {(task, key): value for task, values in ledger.xcoms.items() for key, value in values.items()},
    )
    callbacks = await hand.fetch("select task_instance_id as id, callback_type, try_number from callback")
    _same(
        ("I2", "callbacks", lambda key: [key[0]]),
        Counter((row["id"], row["callback_type"], row["try_number"]) for row in callbacks),
        +ledger.callbacks,
    )
    calls = await hand.fetch("select id, state, claim, worker_id, deadline from callback")
    _same(
        ("I10", "calls", lambda id: [ledger.calls[id].task] if id in ledger.calls else []),
        {row["id"]: (row["state"], row["claim"], row["worker_id"], row["deadline"]) for row in calls},
        {call.id: (call.state, call.claim, call.holder, call.deadline) for call in ledger.calls.values()},
    )
    turn = await hand.fetchval("select number from turn")
    _same(("I7", "turn", lambda _: []), {"number": turn}, {"number": ledger.turn})


def _same(
    of: tuple[str, str, Callable[[Any], Sequence[int]]], stored: Mapping[Any, Any], known: Mapping[Any, Any]
) -> None:
    invariant, table, tasks_of = of
    for key in sorted({*stored, *known}, key=str):
        if stored.get(key) != known.get(key):
            raise Violation(
                invariant,
                f"{table}: the table has {stored.get(key)} for {key}; it must be {known.get(key)}",
                tasks_of(key),
            )


async def check_history(hand: Any) -> None:
    """I2 and I10, from the history alone: read once, at the end, with no memory of what was said."""
    entries = await hand.fetch("select * from history order by id")
    tasks = await hand.fetch("select id, state, leg from task_instance")
    runs = await hand.fetch("select id, state from dag_run")
    jobs = await hand.fetch("select id, state from job")
    check_task_chains(entries, {row["id"]: (row["state"], row["leg"]) for row in tasks})
    run_verbs, job_verbs = {verb.name for verb in RUN_VERBS}, {v.name for v in HOLDER_VERBS if v.subject == "job"}
    _check_chains("dag_run_id", "queued", [e for e in entries if e["verb"] in run_verbs], runs)
    _check_chains("job_id", "running", [e for e in entries if e["verb"] in job_verbs - {"register"}], jobs)
    check_outcomes(entries)


def check_task_chains(entries: Iterable[Row], present: Mapping[int, tuple[str, int]]) -> None:
    """Each task's entries are a chain of legal steps from `none` to what it is now."""
    at = {id: (str(TaskState.NONE), 0) for id in present}
    for entry in entries:
        verb = VERBS.get(entry["verb"])
        if verb is None:
            continue
        id, (state, leg) = entry["task_instance_id"], at[entry["task_instance_id"]]
        legal = verb.allows(TaskState(entry["from_state"]), TaskState(entry["to_state"]))
        if entry["from_state"] != state or entry["leg"] != leg + verb.new_leg or not legal or not entry["who"]:
            raise Violation("I10", f"the chain of task {id} breaks at {dict(entry)}", [id])
        at[id] = (entry["to_state"], entry["leg"])
    for id, end in at.items():
        if end != present[id]:
            raise Violation("I10", f"task {id} is {present[id]}, its history ends with {end}", [id])


def _check_chains(subject: str, first: str, entries: Iterable[Row], rows: Iterable[Row]) -> None:
    present = {row["id"]: row["state"] for row in rows}
    at = dict.fromkeys(present, first)
    for entry in entries:
        if entry["from_state"] != at[entry[subject]]:
            raise Violation("I10", f"the chain of {subject} {entry[subject]} breaks at {dict(entry)}")
        at[entry[subject]] = entry["to_state"]
    if at != present:
        raise Violation("I10", f"{subject}: the rows are {present}, their histories end with {at}")


def check_outcomes(entries: Iterable[Row]) -> None:
    """I2: a leg has one outcome, and a task resumes once from each wait it is in."""
    of_leg: Counter[tuple[int, int]] = Counter()
    joined: dict[tuple[int, int], int] = defaultdict(int)
    for entry in entries:
        task, wait = entry["task_instance_id"], entry["trigger_id"]
        verb = entry["verb"]
        if verb in LEG_OUTCOMES and entry["from_state"] == "running":
            of_leg[task, entry["leg"]] += 1
            if of_leg[task, entry["leg"]] > 1:
                raise Violation("I2", f"leg {entry['leg']} of task {task} has two outcomes", [task])
        if verb in ("defer", "defer_at_start"):
            joined[task, wait] += 1
        if verb in WAIT_OUTCOMES:
            joined[task, wait] -= 1
            if joined[task, wait] < 0:
                raise Violation("I2", f"task {task} resumed twice from wait {wait}", [task])


async def check_rest(hand: Any, ledger: Ledger, free: Mapping[str, int]) -> None:
    """After all has settled nothing is left over: no wait, no on_kill, no child, no taken slot."""
    left = {
        "waits": [wait.id for wait in ledger.waits.values() if not wait.kept],
        "kills": list(ledger.kills),
        "children": [task.id for task in ledger.tasks.values() if task.worker is not None],
        "callbacks": [call.id for call in ledger.calls.values() if call.state not in ("success", "failed")],
        "runs": [run.id for run in ledger.runs.values() if run.state not in ("success", "failed")],
    }
    for what, ids in left.items():
        if ids:
            raise Violation("I5", f"{what} are left: {json.dumps(ids)}", ids if what == "children" else [])
    for name, (slots, _) in ledger.pools.items():
        if free[name] != slots:
            raise Violation("I7", f"pool {name} has {free[name]} of {slots} slots free at the end")
    await check_tables(hand, ledger)
    await check_history(hand)
