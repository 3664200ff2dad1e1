"""Tasks that have not begun: their run, what comes before them, and the room that they need."""

from collections.abc import Iterable

from bide.control.why.facts import NAMED, Cause, Facts
from bide.control.why.words import NO_SCHEDULER, of, said, since, soon
from bide.model.states import TERMINAL, TaskState
from bide.model.transitions import FAIL_METHOD
from bide.model.trigger_rules import TriggerRule, Upstream, Verdict, judge
from bide.model.wording import count, duration, listed, moment

GOOD_PAST = frozenset({TaskState.SUCCESS, TaskState.SKIPPED})

# What each rule waits for, behind "its rule such_and_such".
_WANTS = {
    TriggerRule.ALL_SUCCESS: "needs all of them to succeed",
    TriggerRule.ALL_FAILED: "needs all of them to fail",
    TriggerRule.ALL_DONE: "needs all of them to end",
    TriggerRule.ALL_SKIPPED: "needs all of them to be skipped",
    TriggerRule.ONE_SUCCESS: "needs one that succeeds",
    TriggerRule.ONE_FAILED: "needs one that fails",
    TriggerRule.ONE_DONE: "needs one that succeeds or fails",
    TriggerRule.NONE_FAILED: "needs all of them to end, and none to fail",
    TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS: "needs all of them to end, none to fail and one to succeed",
    TriggerRule.NONE_SKIPPED: "needs all of them to end, and none to be skipped",
    TriggerRule.ALL_DONE_SETUP_SUCCESS: "needs all of them to end, and a setup among them to succeed",
    TriggerRule.ALWAYS: "needs none of them",
}


def _standing(facts: Facts, unwanted: Iterable[TaskState]) -> str:
    """Name the tasks before this one that are in none of these states, each with how it stands."""
    unwanted = set(unwanted)
    states: dict[str, list[str]] = {}
    for tally in facts.upstream:
        if tally.state not in unwanted:
            many = f"{tally.number:,} × " if tally.number > 1 else ""
            states.setdefault(tally.task_id, []).append(f"{many}{tally.state}")
    return listed([f"{name} ({', '.join(found)})" for name, found in states.items()], NAMED)


def upstream_of(facts: Facts) -> Upstream:
    """Count how the tasks before this one stand."""
    setups = {plan.task_id for plan in facts.upstream_plans if plan.is_setup}
    return Upstream.of(
        [tally.state for tally in facts.upstream if tally.task_id not in setups for _ in range(tally.number)],
        [tally.state for tally in facts.upstream if tally.task_id in setups for _ in range(tally.number)],
    )


def verdict(facts: Facts) -> Verdict | None:
    """Ask the trigger rule, as a scheduler does."""
    return judge(facts.plan.trigger_rule, upstream_of(facts)) if facts.plan else None


def _waits_for_others(facts: Facts) -> str:
    rule = facts.plan.trigger_rule if facts.plan else TriggerRule.ALL_SUCCESS
    return f"It waits for {_standing(facts, TERMINAL)}: its rule {rule} {_WANTS[rule]}."


def _is_before(facts: Facts) -> bool:
    return facts.runs is not None


def _runs_are_full(facts: Facts) -> bool:
    return facts.runs is not None and facts.runs.number >= facts.task.max_active_runs


def _full_runs(facts: Facts) -> str:
    task, runs = facts.task, facts.runs
    named = f" ({listed(runs.some, NAMED)})" if runs and runs.some else ""
    limit = count(task.max_active_runs, "run")
    return f"Its run is queued, because {limit} of {task.dag_id} may be active and are{named}; it begins when one ends."


NOBODY_SCHEDULES = Cause(
    "no scheduler", lambda facts: not facts.is_watched, lambda facts: f"Nothing moves, because {NO_SCHEDULER}."
)
PAUSED = Cause(
    "paused",
    lambda facts: facts.task.is_paused,
    lambda facts: f"Its DAG is paused: `bide dags unpause {facts.task.dag_id}` lets it go on.",
)
_RUN_QUEUED = (
    Cause(
        "run queued, paused",
        lambda facts: _is_before(facts) and facts.task.is_paused,
        lambda facts: f"Its run has not begun, because the DAG is paused: `bide dags unpause {facts.task.dag_id}`.",
    ),
    Cause("max_active_runs", _runs_are_full, _full_runs),
    Cause("run queued", _is_before, lambda facts: f"Its run is queued, and begins {soon(facts)}."),
)

STILL_STOPPING = Cause(
    "still stopping",
    lambda facts: facts.task.worker_id is not None,
    lambda facts: (
        f"It shall start afresh, but the worker {facts.task.worker_id} on {facts.task.worker_host} has not yet said "
        + (
            "that its process is gone; that takes the grace of the worker at most."
            if facts.task.worker_is_alive
            else f"that its process is gone, and is silent for {duration(facts.task.worker_silence)}: it is given up "
            f"{soon(facts)}."
        )
    ),
)

NOT_READY = (
    NOBODY_SCHEDULES,
    *_RUN_QUEUED,
    Cause("upstream", lambda facts: verdict(facts) is Verdict.WAIT, _waits_for_others),
    Cause(
        "past",
        lambda facts: not set(facts.past) <= GOOD_PAST,
        lambda facts: (
            f"It looks back (depends_on_past), and in the run before it is {', '.join(facts.past)}: it goes on when it "
            "has succeeded or was skipped there; `bide tasks mark` or `clear` helps."
        ),
    ),
    Cause(
        "to be looked at", lambda facts: True, lambda facts: f"Nothing before it is open: it moves on {soon(facts)}."
    ),
)


def _kill(facts: Facts) -> str:
    task = facts.task
    if task.kill_taken_by is not None:
        who = f"triggerer {task.kill_taken_by} is at it"
    elif facts.helpers:
        who = "a triggerer takes it up at once"
    else:
        who = "no triggerer is alive to run it"
    return (
        f"It may start when the on_kill of its last wait ({task.kill_classpath}, {task.kill_reason}) has run: {who}; "
        f"it is given up at {moment(task.kill_deadline)}."
    )


def _no_room(facts: Facts) -> str:
    task = facts.task
    holders = f", most of all by {listed(facts.pool.holders, NAMED)}" if facts.pool and facts.pool.holders else ""
    before = "many tasks" if facts.pool is None or facts.pool.before is None else count(facts.pool.before, "task")
    slots = facts.room.slots if facts.room else 0
    return (
        f"The pool {task.pool!r} is full: its {count(slots, 'slot')} {'is' if slots == 1 else 'are'} taken{holders}; "
        f"{before} of it come{'s' if before == '1 task' else ''} first. `bide pools set {task.pool}` gives it more."
    )


def _busy(facts: Facts, in_run: bool, of_task: bool) -> int:
    task = facts.task
    return sum(
        one.number
        for one in facts.busy
        if (not in_run or one.dag_run_id == task.dag_run_id)
        and (not of_task or (one.dag_id, one.task_id) == (task.dag_id, task.task_id))
    )


def _met(limit: int | None, number: int) -> bool:
    return limit is not None and number >= limit


READY = (
    Cause(
        "failing",
        lambda facts: facts.task.next_method == FAIL_METHOD,
        lambda facts: f"Its wait has failed ({said(facts.task.error)}); a retry or the end follows {soon(facts)}.",
    ),
    NOBODY_SCHEDULES,
    *_RUN_QUEUED,
    PAUSED,
    Cause("on_kill", lambda facts: facts.task.kill_deadline is not None, _kill),
    Cause(
        "no pool",
        lambda facts: facts.room is None,
        lambda facts: f"There is no pool {facts.task.pool!r}: make it with `bide pools set {facts.task.pool} SLOTS`.",
    ),
    Cause(
        "pool too small",
        lambda facts: facts.room and facts.room.slots < facts.task.pool_slots,
        lambda facts: (
            f"It needs {count(facts.task.pool_slots, 'slot')}, and the pool {facts.task.pool!r} has only "
            f"{facts.room.slots if facts.room else 0}: give it more with `bide pools set {facts.task.pool}`."
        ),
    ),
    Cause("pool full", lambda facts: facts.room and facts.room.free < facts.task.pool_slots, _no_room),
    Cause(
        "max_active_tasks",
        lambda facts: _busy(facts, in_run=True, of_task=False) >= facts.task.max_active_tasks,
        lambda facts: (
            f"Its run has {count(_busy(facts, in_run=True, of_task=False), 'task')} at work, and max_active_tasks is "
            f"{facts.task.max_active_tasks:,}: it goes on when one of them ends or waits."
        ),
    ),
    Cause(
        "max_active_tis_per_dag",
        lambda facts: _met(facts.task.max_active_tis_per_dag, _busy(facts, in_run=False, of_task=True)),
        lambda facts: (
            f"max_active_tis_per_dag of {facts.task.task_id} is {facts.task.max_active_tis_per_dag}, and so many are "
            "at work in all runs: it goes on when one of them ends or waits."
        ),
    ),
    Cause(
        "max_active_tis_per_dagrun",
        lambda facts: _met(facts.task.max_active_tis_per_dagrun, _busy(facts, in_run=True, of_task=True)),
        lambda facts: (
            f"max_active_tis_per_dagrun of {facts.task.task_id} is {facts.task.max_active_tis_per_dagrun}, and so many "
            "are at work in its run: it goes on when one of them ends or waits."
        ),
    ),
    Cause(
        "room",
        lambda facts: True,
        lambda facts: (
            f"It has been ready{since(facts)}, and the pool {facts.task.pool!r} has room: it is queued {soon(facts)}."
        ),
    ),
)


def failed_before(facts: Facts) -> str:
    """Name the tasks that stand in the way of a rule for good."""
    named = _standing(facts, set(TaskState) - {TaskState.FAILED, TaskState.UPSTREAM_FAILED, TaskState.SKIPPED})
    return named or _standing(facts, set(TaskState) - TERMINAL) or of(facts)
