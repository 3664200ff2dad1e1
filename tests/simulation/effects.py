"""What each verb leaves behind: the ledger after it. The methods have the names of the verbs."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from bide.model.states import FINISHED_RUN, TaskState
from tests.simulation.ledger import Kill, Ledger, Task, Wait, Word

S = TaskState
KINDS = {S.SUCCESS: "success", S.FAILED: "failure", S.UP_FOR_RETRY: "retry", S.SKIPPED: "skipped"}
# Not `skip_unstarted`: whoever asked to be called when a task skips itself has no use for every branch not taken.
ANNOUNCED = {"succeed", "skip", "fail", "end", "fire_due", "pass_empty", "mark", "stop", "fire_by_hand", "cancel"}
# Why an on_kill is asked for; `stop` says it itself.
REASONS = {"clear": "cleared", "mark": "marked", "lapse": "timed_out", "remove": "removed"}
REASONS |= {"fail_by_hand": "marked", "cancel": "marked"}
TURNS = {"enqueue", "defer_at_start", "begin"}
FAILURES = {S.FAILED, S.UPSTREAM_FAILED}


def decoded(text: str | None) -> Any:
    """Read JSON; a name that is there twice is an error."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError(f"doubled names in {text}")
        return dict(pairs)

    return None if text is None else json.loads(text, object_pairs_hook=once)


def earliest(*dates: datetime | None) -> datetime | None:
    return min((date for date in dates if date is not None), default=None)


class TaskEffects:
    """A task instance after a verb; its state has already been set to what the history says."""

    def __init__(self, ledger: Ledger, word: Word) -> None:
        self._ledger = ledger
        self._word = word
        self._now = ledger.now
        # By the task, or for words about waits by the trigger.
        self._items = {
            getattr(item, key): item
            for argument in word.args
            if isinstance(argument, tuple)
            for item in argument
            if (key := next((key for key in ("id", "trigger_id") if hasattr(item, key)), None))
        }
        self._first_to_leave: dict[int, int] = {}

    def apply(self, task: Task, before: TaskState, trigger: int | None, why: str | None) -> None:
        """Change the ledger as the verb must have changed the task."""
        verb = self._word.verb
        getattr(self, verb)(task, before=before, trigger=trigger, why=why)
        if verb in ANNOUNCED and task.state in KINDS:
            self._ledger.callbacks[(task.id, KINDS[task.state], task.tries)] += 1

    # Legs.

    def start(self, task: Task, **_: Any) -> None:
        self._open(task)
        task.worker, task.child_leg = self._word.args[0], task.leg
        task.sensor_deadline = task.sensor_deadline or self._in(task.facts.sensor_timeout)

    def succeed(self, task: Task, **_: Any) -> None:
        self._leave_worker(task)
        self._go_on_with(task, None, None)
        self._push(task, task.id, self._word.args[1:])

    def skip(self, task: Task, **_: Any) -> None:
        self._leave_worker(task)
        self._go_on_with(task, None, None)

    def fail(self, task: Task, before: TaskState, **_: Any) -> None:
        self._leave_worker(task)
        if before is S.RUNNING:
            self._go_on_with(task, None, None)
        task.wake_at = self._in(self._items[task.id].rest)

    def reschedule(self, task: Task, **_: Any) -> None:
        self._leave_worker(task)
        self._go_on_with(task, None, None)
        item = self._items[task.id]
        task.wake_at = item.until or self._in(item.after)

    def defer(self, task: Task, trigger: int, **_: Any) -> None:
        self._leave_worker(task)
        self._wait(task, trigger)

    def drain(self, task: Task, **_: Any) -> None:
        """The child is still there."""

    def stopped(self, task: Task, **_: Any) -> None:
        self._leave_worker(task)

    def rescue(self, task: Task, before: TaskState, why: str, **_: Any) -> None:
        self._leave_worker(task)
        if before is S.RUNNING:
            self._go_on_with(task, "__fail__", {"error": why, "reason": "zombie"})

    # The way to an executor.

    def enqueue(self, task: Task, **_: Any) -> None:
        pass

    unqueue = ready = block = skip_unstarted = enqueue

    def pass_empty(self, task: Task, **_: Any) -> None:
        task.opened = True

    def wake(self, task: Task, before: TaskState, **_: Any) -> None:
        task.wake_at = None
        self._go_on_with(task, None, None)
        if before is S.UP_FOR_RETRY:
            task.opened, task.try_deadline = False, None

    # Waits.

    def defer_at_start(self, task: Task, trigger: int, **_: Any) -> None:
        self._open(task)
        task.sensor_deadline = task.sensor_deadline or self._in(task.facts.sensor_timeout)
        self._wait(task, trigger)

    def fire(self, task: Task, trigger: int, **_: Any) -> None:
        self._end_wait(task)
        task.kwargs = {**(task.kwargs or {}), "event": decoded(self._items[trigger].event)}

    def fire_due(self, task: Task, **_: Any) -> None:
        wait = self._end_wait(task)
        if wait.ends:
            self._go_on_with(task, None, None)
        else:
            task.kwargs = {**(task.kwargs or {}), "event": wait.event}

    def end(self, task: Task, trigger: int, **_: Any) -> None:
        self._end_wait(task)
        failed = task.state is S.SCHEDULED
        self._go_on_with(task, *(("__fail__", decoded(self._items[trigger].error)) if failed else (None, None)))
        self._push(task, trigger, self._word.args[1:])

    def crash(self, task: Task, trigger: int, **_: Any) -> None:
        self._end_wait(task)
        self._go_on_with(task, "__fail__", decoded(self._items[trigger].error))

    def lapse(self, task: Task, why: str, **_: Any) -> None:
        self._let_go(task, self._word.args[0])
        words = {"execution_timeout": "Execution timeout", "sensor_timeout": "Sensor timeout"}
        self._go_on_with(task, "__fail__", {"error": words.get(why, "Trigger timeout"), "reason": why})

    # What people say about waits.

    def fire_by_hand(self, task: Task, **_: Any) -> None:
        wait, event = self._end_wait(task), self._word.args[1]
        if wait.ends and event is None:
            self._go_on_with(task, None, None)
        else:
            task.kwargs = {**(task.kwargs or {}), "event": wait.event if event is None else decoded(event)}

    def fail_by_hand(self, task: Task, **_: Any) -> None:
        self._let_go(task, self._word.args[0])
        self._go_on_with(task, "__fail__", decoded(self._word.args[2]))

    def extend(self, task: Task, **_: Any) -> None:
        task.wait_deadline = earliest(self._items[task.id].until, task.try_deadline, task.sensor_deadline)

    def cancel(self, task: Task, **_: Any) -> None:
        self._let_go(task, self._word.args[0])
        self._go_on_with(task, None, None)

    # What takes a task out of whatever it is in.

    def clear(self, task: Task, **_: Any) -> None:
        self._nothing_left(task)
        task.max_tries = task.tries + task.facts.retries
        task.opened, task.try_deadline, task.sensor_deadline = False, None, None

    def mark(self, task: Task, **_: Any) -> None:
        self._nothing_left(task)

    stop = remove = mark

    # Pieces of them.

    def _in(self, after: timedelta | None) -> datetime | None:
        return None if after is None else self._now + after

    def _go_on_with(self, task: Task, method: str | None, kwargs: Any) -> None:
        task.method, task.kwargs = method, kwargs

    def _leave_worker(self, task: Task) -> None:
        task.worker = task.child_leg = None

    def _open(self, task: Task) -> None:
        if task.opened:
            return
        task.opened = True
        task.tries += 1
        task.try_deadline = self._in(task.facts.execution_timeout)
        if task.tries > 1:
            self._ledger.xcoms.pop(task.id, None)

    def _push(self, task: Task, by: int, batches: Iterable[Sequence[Any]]) -> None:
        for xcoms in batches:
            for xcom in xcoms:
                if xcom.source == by:
                    self._ledger.xcoms.setdefault(task.id, {})[xcom.key] = decoded(xcom.value)

    def _wait(self, task: Task, trigger: int) -> None:
        item = self._items[task.id]
        wait = self._ledger.waits.get(trigger) or self._begun(trigger)
        wait.tasks.append(task.id)
        wait.priority = max(wait.priority, task.facts.priority_weight)
        task.wait = task.last_wait = trigger
        self._go_on_with(task, item.next_method, decoded(item.next_kwargs))
        task.wait_deadline = earliest(self._in(item.timeout), task.try_deadline, task.sensor_deadline)

    def _begun(self, trigger: int) -> Wait:
        # Of those that begin a shared wait in one statement, one stands for all.
        item = next(item for item in self._items.values() if item.trigger_id == trigger)
        wait = self._ledger.waits[trigger] = Wait(
            trigger,
            self._now,
            item.queue,
            self._ledger.tasks[item.id].facts.priority_weight,
            item.due_at or self._in(item.due_in),
            decoded(item.event),
            item.ends,
            item.shared_key,
            item.on_kill,
        )
        return wait

    def _end_wait(self, task: Task) -> Wait:
        """The task goes on; its wait is over once it has gone on for everybody."""
        assert task.wait is not None
        wait = self._ledger.waits[task.wait]
        wait.tasks.remove(task.id)
        task.wait = task.wait_deadline = None
        if not wait.tasks:
            del self._ledger.waits[wait.id]
        return wait

    def _let_go(self, task: Task, patience: timedelta) -> None:
        wait = self._end_wait(task)
        # Of those that leave a shared wait in one statement, the first stands for all.
        first = self._first_to_leave.setdefault(wait.id, task.id)
        if wait.on_kill and not wait.tasks:
            self._ledger.kills[wait.id] = Kill(
                wait.id, first, wait.queue, wait.holder, wait.claim, self._reason(), self._now + patience
            )

    def _reason(self) -> str:
        return REASONS.get(self._word.verb) or self._word.args[-1]

    def _nothing_left(self, task: Task) -> None:
        if task.wait is not None:
            self._let_go(task, self._word.args[0])
        self._go_on_with(task, None, None)
        task.wake_at = task.wait_deadline = None


def count_the_turn(ledger: Ledger, word: Word) -> None:
    """Whoever hands out room with the latest turn makes the next one."""
    if word.verb in TURNS and word.args[0] == ledger.turn:
        ledger.turn += 1


def rewritten(ledger: Ledger, verb: str, steps: Iterable[tuple[Task, TaskState]]) -> list[int]:
    """Open a new epoch where a person has rewritten the past, and give the runs that this must reopen."""
    runs: dict[int, bool] = {}
    for task, before in steps:
        otherwise = task.facts.is_leaf and (before in FAILURES) != (task.state in FAILURES)
        runs[task.run] = runs.get(task.run, False) or verb == "clear" or otherwise
    for run in runs:
        ledger.runs[run].epoch += 1
    return [run for run, reopens in runs.items() if reopens and ledger.runs[run].state in FINISHED_RUN]


def run_effects(ledger: Ledger, run_id: int, verb: str) -> None:
    """A run after a verb; its state has already been set to what the history says."""
    run = ledger.runs[run_id]
    if verb == "begin" and run.timeout is not None:
        run.timeout_at = ledger.now + run.timeout
    if run.state in FINISHED_RUN:
        run.timeout_at = None


def wait_effects(ledger: Ledger, wait: Wait, word: Word) -> None:
    """A wait after a verb about who holds it."""
    verb = word.verb
    if verb == "sweep":
        del ledger.waits[wait.id]
    elif verb == "unpark":
        wait.parked_until = None
    else:
        wait.claim += 1
        wait.holder = word.args[0] if verb == "claim" else None
    if verb == "park":
        wait.parked_until = ledger.now + next(item.pause for item in word.args[0] if item.id == wait.id)


def kill_effects(ledger: Ledger, kill: Kill, word: Word) -> None:
    """A call of on_kill after a verb."""
    if word.verb == "take_kill":
        kill.claim += 1
        kill.holder, kill.taken = word.args[0], True
    else:
        del ledger.kills[kill.trigger]
