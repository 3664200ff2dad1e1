"""Tasks that wait: for what their trigger watches, or for a date."""

from datetime import timedelta

from bide.control.why.facts import NAMED, Cause, Facts
from bide.control.why.words import NO_SCHEDULER, said, soon
from bide.model.states import TaskState
from bide.model.wording import count, duration, listed, moment
from bide.store.why import Alive

JUST_NOW = timedelta(seconds=10)
"""A wait that has been free for less has only not been taken yet."""


def _waits(facts: Facts) -> str:
    task = facts.task
    age = duration(task.now - task.waits_since) if task.waits_since else "some time"
    return f"It has waited for {task.classpath} for {age}"


def _at_most(facts: Facts) -> str:
    at = facts.task.trigger_timeout
    return f", at {moment(at)} at the latest" if at else ""


def _times_out(facts: Facts) -> str:
    at = facts.task.trigger_timeout
    return f"; it times out at {moment(at)}" if at else ""


def _is_overdue(facts: Facts) -> bool:
    task = facts.task
    before_timer = task.due_at is None or (task.trigger_timeout is not None and task.trigger_timeout < task.due_at)
    return task.trigger_timeout is not None and task.trigger_timeout < task.now and before_timer


def _overdue(facts: Facts) -> str:
    task = facts.task
    passed = duration(task.now - task.trigger_timeout) if task.trigger_timeout else ""
    return f"{_waits(facts)}; its timeout passed {passed} ago, and it fails {soon(facts)}."


def _timer(facts: Facts) -> str:
    task = facts.task
    if task.due_at is not None and task.due_at <= task.now:
        return f"Its date, {moment(task.due_at)}, has come: it goes on {soon(facts)}."
    nobody = "" if facts.is_watched else f", but {NO_SCHEDULER}"
    return f"It sleeps until {moment(task.due_at)}; a scheduler wakes it then, no triggerer is needed{nobody}."


def _parked(facts: Facts) -> str:
    task = facts.task
    tried = f"it is tried again at {moment(task.parked_until)}"
    if task.parked_until is not None and task.parked_until <= task.now:
        tried = f"it is tried again {soon(facts)}"
    return (
        f"{_waits(facts)}, but it is put aside: {said(task.parked_why)}; {tried}, and goes on once the key or "
        f"the code is there{_times_out(facts)}."
    )


def _held(facts: Facts) -> str:
    task = facts.task
    return (
        f"{_waits(facts)}; triggerer {task.triggerer_id} on {task.triggerer_host} watches for it (heartbeat "
        f"{duration(task.triggerer_silence)} ago), and it goes on when that has come{_at_most(facts)}."
    )


def _silent(facts: Facts) -> str:
    task = facts.task
    where = f" on {task.triggerer_host}" if task.triggerer_host else ""
    silent = f" has been silent for {duration(task.triggerer_silence)}" if task.triggerer_silence else " is gone"
    others = "" if _serving(facts) else "; no other triggerer is alive that serves its queue: start one"
    return f"{_waits(facts)}; triggerer {task.triggerer_id}{where}{silent}: others may take it {soon(facts)}{others}."


def _serving(facts: Facts) -> list[Alive]:
    """The living triggerers that may take the wait: one without queues takes what has none."""
    queue = facts.task.wait_queue
    return [one for one in facts.helpers if (queue in one.queues if queue else not one.queues or "" in one.queues)]


def _unserved(facts: Facts) -> str:
    queue = facts.task.wait_queue
    if queue:
        return (
            f"{_waits(facts)} in the queue {queue!r}, which no living triggerer serves: start one with "
            f"`bide triggerer --queues {queue}`."
        )
    return f"{_waits(facts)}; only triggerers for other queues are alive: start `bide triggerer` without queues."


def _all_full(facts: Facts) -> str:
    loads = [f"{one.id} on {one.hostname} ({one.load:,} of {one.capacity:,})" for one in _serving(facts)]
    return (
        f"{_waits(facts)}, and nobody holds it because every triggerer that could is full: {listed(loads, NAMED)}; "
        f"start another one, or give them more triggerer.capacity{_times_out(facts)}."
    )


def _free(facts: Facts) -> str:
    able = count(len(_serving(facts)), "triggerer")
    return f"{_waits(facts)}; nobody holds it yet, and {able} with room may: one takes it at its next look."


def _dated(facts: Facts) -> str:
    task = facts.task
    why = facts.led_here.why if facts.led_here else None
    if task.wake_at is not None and task.wake_at <= task.now:
        when = soon(facts)
    else:
        when = f"at {moment(task.wake_at)}" + ("" if facts.is_watched else f", but {NO_SCHEDULER}")
    if task.state is TaskState.UP_FOR_RESCHEDULE:
        return f"What it looks for was not there; it looks again {when}."
    because = f": {said(why)}" if why else ""
    tries = f"{task.try_number} of {max(task.max_tries + 1, task.try_number)}"
    return f"Its try {tries} has failed{because}. It tries again {when}."


DEFERRED = (
    Cause("overdue", _is_overdue, _overdue),
    Cause("timer", lambda facts: facts.task.due_at is not None, _timer),
    Cause("parked", lambda facts: facts.task.parked_until is not None, _parked),
    Cause("held", lambda facts: facts.task.triggerer_is_alive, _held),
    Cause("triggerer silent", lambda facts: facts.task.triggerer_id is not None, _silent),
    Cause(
        "no triggerer",
        lambda facts: not facts.helpers,
        lambda facts: f"{_waits(facts)}, and no triggerer is alive: start `bide up`, or `bide triggerer` alone.",
    ),
    Cause("queue unserved", lambda facts: not _serving(facts), _unserved),
    Cause("triggerers full", lambda facts: all(one.is_full for one in _serving(facts)), _all_full),
    Cause("unclaimed", lambda facts: True, _free),
)
DATED = (Cause("date", lambda facts: True, _dated),)
