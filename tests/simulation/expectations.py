"""What each verb must do, by its fence and the ledger: exactly these rows, and no others.

The methods have the names of the verbs and take what the functions of the store take after `who`. They answer with
the ids of the rows that must change. A word whose fence is stale is one whose items are not in the answer.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from bide.model.states import FINISHED_RUN, TERMINAL, UNFINISHED, RunState, TaskState
from tests.simulation.ledger import Call, Job, Kill, Ledger, Task, Wait

S = TaskState
UNSTARTED = frozenset({S.NONE, S.RESTARTING})
LET_GO = TERMINAL | {S.SHUTDOWN, S.RESTARTING}


class Expectations:
    """Which rows a word must change now."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    # What workers say: the leg decides.

    def start(self, job: int, legs: Sequence[Any]) -> list[int]:
        return self._legs(legs, lambda task: task.state is S.QUEUED) if self._ledger.alive(job) else []

    def _running(self, legs: Sequence[Any], *_: object) -> list[int]:
        return self._legs(legs, lambda task: task.state is S.RUNNING)

    succeed = reschedule = drain = defer = _running

    def fail(self, legs: Sequence[Any]) -> list[int]:
        worker_says = [leg for leg in legs if leg.from_state == "running"]
        scheduler_says = [leg for leg in legs if leg.from_state == "scheduled"]
        finished = self._legs(scheduler_says, lambda task: task.state is S.SCHEDULED and task.failing)
        return sorted(self._running(worker_says) + finished)

    skip = fail

    def stopped(self, children: Sequence[Any]) -> list[int]:
        tasks = self._ledger.tasks
        return _ids(child.id for child in children if _let_go_leg(tasks[child.id]) == child.leg)

    def rescue(self, limit: int) -> list[int]:
        held = [task for task in self._ledger.tasks.values() if task.worker is not None]
        return _ids(task.id for task in held if not self._ledger.alive(task.worker))[:limit]

    # The way to an executor.

    def enqueue(self, turn: int, legs: Sequence[Any]) -> list[int]:
        return self._handed_out(turn, legs, lambda task: not task.failing)

    def defer_at_start(self, turn: int, waits: Sequence[Any]) -> list[int]:
        return self._handed_out(turn, waits, lambda task: task.method is None)

    def unqueue(self, legs: Sequence[Any]) -> list[int]:
        return self._legs(legs, lambda task: task.state is S.QUEUED)

    def wake(self, limit: int) -> list[int]:
        return self._due(limit, lambda task: task.wake_at)

    # Waits: the claim decides.

    def _told(self, words: Sequence[Any], *_: object) -> list[int]:
        waits = self._ledger.waits
        ended = [waits[word.trigger_id] for word in words if self._claims(word.trigger_id, word.claim)]
        return _ids(task for wait in ended for task in wait.tasks)

    fire = end = crash = _told

    def fire_due(self, limit: int) -> list[int]:
        now = self._ledger.now
        tasks = self._ledger.tasks
        due = [wait for wait in self._ledger.waits.values() if wait.due is not None and wait.due <= now]
        return _ids(id for wait in due for id in wait.tasks if not _lapsed_before(wait, tasks[id]))[:limit]

    def lapse(self, _patience: timedelta, limit: int) -> list[int]:
        waits = self._ledger.waits

        def deadline(task: Task) -> datetime | None:
            return task.wait_deadline if task.wait and _lapsed_before(waits[task.wait], task) else None

        return self._due(limit, deadline)

    def fire_by_hand(self, waits: Sequence[Any], *_: object) -> list[int]:
        return self._seen(waits)

    def fail_by_hand(self, _patience: timedelta, waits: Sequence[Any], *_: object) -> list[int]:
        return self._seen(waits)

    cancel = fail_by_hand

    def extend(self, waits: Sequence[Any], _why: str) -> list[int]:
        tasks = self._ledger.tasks
        return self._seen([wait for wait in waits if _ends_later(tasks[wait.id], wait.until)])

    def claim(self, job: int, queues: Sequence[str], limit: int) -> list[int]:
        free = [wait for wait in self._ledger.waits.values() if wait.free and (wait.queue or "") in queues]
        taken = sorted(free, key=lambda wait: (-wait.priority, wait.id))[:limit]
        return _ids(wait.id for wait in taken) if self._ledger.alive(job) else []

    def release(self, job: int, claims: Sequence[Any], _why: str) -> list[int]:
        waits = self._ledger.waits
        return _ids(c.id for c in claims if self._claims(c.id, c.claim) and waits[c.id].holder == job)

    def release_all(self, job: int, _why: str) -> list[int]:
        return self._waits(lambda wait: wait.holder == job)

    def orphan(self, limit: int) -> list[int]:
        return self._waits(lambda wait: wait.holder is not None and not self._ledger.alive(wait.holder))[:limit]

    def park(self, waits: Sequence[Any]) -> list[int]:
        known = self._ledger.waits
        return _ids(w.id for w in waits if self._claims(w.id, w.claim) and known[w.id].holder is not None)

    def unpark(self, limit: int) -> list[int]:
        now = self._ledger.now
        parked = [(wait.parked_until, wait.id) for wait in self._ledger.waits.values() if wait.parked_until]
        return _ids(id for until, id in sorted(parked)[:limit] if until <= now)

    def sweep(self, after: int, age: timedelta, limit: int) -> list[int]:
        old = self._ledger.now - age
        return self._waits(lambda w: w.id > after and w.created < old and not w.tasks and not w.kept)[:limit]

    # Calls of on_kill.

    def take_kill(self, job: int, queues: Sequence[str], limit: int, known: Sequence[int]) -> list[int]:
        def open_to(kill: Kill) -> bool:
            lost = kill.taken and kill.trigger not in known and kill.deadline > self._ledger.now
            own = kill.holder == job and (lost or not kill.taken)
            return own or (not self._ledger.alive(kill.holder) and (kill.queue or "") in queues)

        return self._kills(open_to)[:limit] if self._ledger.alive(job) else []

    def acknowledge(self, claims: Sequence[Any]) -> list[int]:
        said = {(claim.id, claim.claim) for claim in claims}
        return self._kills(lambda kill: kill.taken and (kill.trigger, kill.claim) in said)

    def give_up(self, limit: int) -> list[int]:
        return self._kills(lambda kill: kill.deadline <= self._ledger.now)[:limit]

    # Callbacks.

    def take_callback(self, job: int, queues: Sequence[str], limit: int, _within: timedelta) -> list[int]:
        free = self._calls(lambda call: call.state == "pending" and call.queue in queues)
        return free[:limit] if self._ledger.alive(job) else []

    def end_callback(self, calls: Sequence[Any]) -> list[int]:
        said = {(call.id, call.claim) for call in calls}
        return self._calls(lambda call: call.state == "running" and (call.id, call.claim) in said)

    def free_callback(self, _most_claims: int, limit: int) -> list[int]:
        def is_lost(call: Call) -> bool:
            late = call.deadline is not None and call.deadline <= self._ledger.now
            return call.state == "running" and (late or not self._ledger.alive(call.holder))

        return self._calls(is_lost)[:limit]

    # Runs: the epoch decides.

    def ready(self, tasks: Sequence[Any]) -> list[int]:
        return self._pictured(tasks, lambda task: task.state in UNSTARTED and task.worker is None)

    pass_empty = expand = ready

    def adopt(self, run_ids: Sequence[int], version: int, _timeout: timedelta | None, _tasks: object) -> list[int]:
        runs = [self._ledger.runs[id] for id in run_ids]
        return _ids(run.id for run in runs if run.state not in FINISHED_RUN and run.version != version)

    def block(self, tasks: Sequence[Any]) -> list[int]:
        return self._pictured(
            tasks, lambda task: task.state in UNSTARTED or (task.state is S.SCHEDULED and not task.opened)
        )

    skip_unstarted = block

    def begin(self, turn: int, runs: Sequence[int]) -> list[int]:
        right = turn == self._ledger.turn
        return _ids(run for run in runs if right and self._ledger.runs[run].state is RunState.QUEUED)

    def conclude(self, runs: Sequence[Any]) -> list[int]:
        return self._over(runs, {RunState.RUNNING}, timed_out=False)

    def expire(self, runs: Sequence[Any]) -> list[int]:
        return self._over(runs, {RunState.RUNNING}, timed_out=True)

    def mark_run(self, runs: Sequence[Any], _to_state: RunState, _why: str) -> list[int]:
        return self._over(runs, {RunState.QUEUED, RunState.RUNNING})

    # What needs no fence but the state.

    def clear(self, _patience: timedelta, ids: Sequence[int], _why: str) -> list[int]:
        return _ids(id for id in ids if self._ledger.tasks[id].state not in UNSTARTED)

    def mark(self, _patience: timedelta, ids: Sequence[int], to_state: TaskState, _why: str) -> list[int]:
        return _ids(id for id in ids if self._ledger.tasks[id].state is not to_state)

    def stop(self, _patience: timedelta, tasks: Sequence[Any], _reason: str) -> list[int]:
        return self._pictured(tasks, lambda task: task.state in UNFINISHED)

    def remove(self, _patience: timedelta, ids: Sequence[int]) -> list[int]:
        return _ids(id for id in ids if self._ledger.tasks[id].state in UNFINISHED)

    # Processes.

    def retire(self, job: int) -> list[int]:
        return [job] if self._ledger.alive(job) else []

    beat = retire

    def suspect(self) -> list[int]:
        return self._jobs(lambda j: j.holds_lock and j.suspected_at is None and j.id not in self._ledger.locks)

    def bury(self, grace: timedelta, watch: Any) -> list[int]:
        def is_dead(job: Job) -> bool:
            lease = timedelta(seconds=2.1 * job.heartbeat_sec)
            silent = job.heartbeat < watch.until - lease
            lost_its_lock = job.suspected_at is not None and job.suspected_at <= watch.until - grace
            watched, calm = watch.until - watch.since >= lease, watch.until - watch.calm_since >= lease
            return (watched and silent) or (calm and lost_its_lock)

        return self._jobs(is_dead)

    # The fences.

    def _legs(self, legs: Sequence[Any], holds: Callable[[Task], bool]) -> list[int]:
        tasks = self._ledger.tasks
        return _ids(leg.id for leg in legs if tasks[leg.id].leg == leg.leg and holds(tasks[leg.id]))

    def _handed_out(self, turn: int, legs: Sequence[Any], holds: Callable[[Task], bool]) -> list[int]:
        if turn != self._ledger.turn:
            return []
        free = self._legs(legs, lambda task: task.state is S.SCHEDULED and holds(task))
        return [id for id in free if not self._ledger.stopped_waits(id)]

    def _seen(self, waits: Sequence[Any]) -> list[int]:
        return _ids(wait.id for wait in waits if self._ledger.tasks[wait.id].wait == wait.trigger_id)

    def _claims(self, trigger: int, claim: int) -> bool:
        return trigger in self._ledger.waits and self._ledger.waits[trigger].claim == claim

    def _pictured(self, tasks: Sequence[Any], holds: Callable[[Task], bool]) -> list[int]:
        def sure(item: Any) -> bool:
            run = self._ledger.runs[self._ledger.tasks[item.id].run]
            return run.state is RunState.RUNNING and run.epoch == item.epoch

        return _ids(item.id for item in tasks if sure(item) and holds(self._ledger.tasks[item.id]))

    def _over(self, pictures: Sequence[Any], states: set[RunState], timed_out: bool | None = None) -> list[int]:
        def holds(id: int, epoch: int) -> bool:
            run = self._ledger.runs[id]
            late = run.timeout_at is not None and run.timeout_at <= self._ledger.now
            in_time = timed_out is None or late is timed_out
            return run.epoch == epoch and run.state in states and in_time and self._ledger.done(id)

        return _ids(picture.id for picture in pictures if holds(picture.id, picture.epoch))

    def _due(self, limit: int, date: Callable[[Task], Any]) -> list[int]:
        now = self._ledger.now
        dated = [(date(task), task.id) for task in self._ledger.tasks.values()]
        return _ids(id for at, id in dated if at is not None and at <= now)[:limit]

    def _waits(self, holds: Callable[[Wait], bool]) -> list[int]:
        return _ids(wait.id for wait in self._ledger.waits.values() if holds(wait))

    def _kills(self, holds: Callable[[Kill], bool]) -> list[int]:
        return _ids(kill.trigger for kill in self._ledger.kills.values() if holds(kill))

    def _calls(self, holds: Callable[[Call], bool]) -> list[int]:
        return _ids(call.id for call in self._ledger.calls.values() if holds(call))

    def _jobs(self, holds: Callable[[Job], bool]) -> list[int]:
        return _ids(job.id for job in self._ledger.jobs.values() if job.state == "running" and holds(job))


def _ids(found: Iterable[int]) -> list[int]:
    return sorted(set(found))


def _lapsed_before(wait: Wait, task: Task) -> bool:
    """Whether a timeout of the task comes before the date of its timer: then it is what ends the wait."""
    return task.wait_deadline is not None and (wait.due is None or task.wait_deadline < wait.due)


def _let_go_leg(task: Task) -> int | None:
    """The leg of a child that has still to stop."""
    return task.child_leg if task.state in LET_GO else None


def _ends_later(task: Task, until: datetime) -> bool:
    """Whether a wait may go on for longer than it would; there are deadlines that it cannot move."""
    last = min(date for date in (until, task.try_deadline, task.sensor_deadline) if date is not None)
    return task.wait_deadline is not None and task.wait_deadline < last
