"""Tasks that have ended: how, by whom, and what lets them run again."""

from collections.abc import Callable

from bide.control.why.facts import Cause, Facts
from bide.control.why.unstarted import failed_before, verdict
from bide.control.why.words import at, of, said
from bide.model.states import TaskState
from bide.model.trigger_rules import Verdict


def _by(*verbs: str) -> Callable[[Facts], object]:
    return lambda facts: facts.led_here is not None and facts.led_here.verb in verbs


def _again(facts: Facts) -> str:
    return f"`bide tasks clear {of(facts)}` lets it run again."


def _why(facts: Facts) -> str:
    text = said(facts.led_here.why if facts.led_here else None)
    return f": {text}" if text else ""


def _who(facts: Facts) -> str:
    return facts.led_here.who if facts.led_here else "somebody"


def _tries(facts: Facts) -> str:
    task = facts.task
    return f"try {task.try_number} of {max(task.max_tries + 1, task.try_number)}" if task.try_number else "wait"


def _left_out(facts: Facts) -> str:
    if verdict(facts) is Verdict.SKIP and facts.plan:
        return f"It was skipped{at(facts)}, because of its rule {facts.plan.trigger_rule} and {failed_before(facts)}."
    branching = [plan.task_id for plan in facts.upstream_plans if plan.branches]
    before = f"{' or '.join(branching)} before it" if branching else "a branching task before it"
    return f"It was skipped{at(facts)}, because {before} went elsewhere."


MARKED = Cause(
    "marked",
    _by("mark"),
    lambda facts: f"{_who(facts)} has marked it as {facts.task.state}{at(facts)}{_why(facts)}.",
)
CANCELLED = Cause(
    "cancelled",
    _by("cancel"),
    lambda facts: f"{_who(facts)} has cancelled its wait{at(facts)}, as {facts.task.state}{_why(facts)}.",
)
STOPPING = Cause(
    "ended, still stopping",
    lambda facts: facts.task.worker_id is not None,
    lambda facts: (
        f"It is {facts.task.state} by {_who(facts)}{at(facts)}; the worker {facts.task.worker_id} on "
        f"{facts.task.worker_host} has not yet said that its process is gone."
    ),
)

ENDED: dict[TaskState, tuple[Cause, ...]] = {
    TaskState.SUCCESS: (
        STOPPING,
        MARKED,
        CANCELLED,
        Cause(
            "nothing to do",
            _by("pass_empty"),
            lambda facts: f"It had nothing to do, and succeeded{at(facts)} without a worker.",
        ),
        Cause(
            "ended by its trigger",
            _by("end"),
            lambda facts: f"What it waited for ended it as a success{at(facts)}, without a worker.",
        ),
        Cause(
            "date came",
            _by("fire_due"),
            lambda facts: f"The date that it waited for came, and that was all{at(facts)}.",
        ),
        Cause(
            "fired by hand",
            _by("fire_by_hand"),
            lambda facts: f"{_who(facts)} has fired the timer that was all it did{at(facts)}{_why(facts)}.",
        ),
        Cause("succeeded", lambda facts: True, lambda facts: f"It succeeded{at(facts)} in its {_tries(facts)}."),
    ),
    TaskState.FAILED: (
        STOPPING,
        MARKED,
        CANCELLED,
        Cause(
            "failed",
            lambda facts: True,
            lambda facts: f"It failed{at(facts)} in its {_tries(facts)}{_why(facts)}. {_again(facts)}",
        ),
    ),
    TaskState.SKIPPED: (
        STOPPING,
        MARKED,
        CANCELLED,
        Cause(
            "stopped with its run",
            _by("stop"),
            lambda facts: (
                f"It was stopped{at(facts)}, because "
                + {"run_timed_out": "its run took longer than dagrun_timeout", "run_failed": "its run fails fast"}.get(
                    (facts.led_here and facts.led_here.why) or "", "its run had ended"
                )
                + f". {_again(facts)}"
            ),
        ),
        Cause("left out", _by("skip_unstarted"), _left_out),
        Cause(
            "skipped by its trigger",
            _by("end"),
            lambda facts: f"What it waited for ended it as skipped{at(facts)}{_why(facts)}.",
        ),
        Cause("skipped itself", lambda facts: True, lambda facts: f"Its code skipped it{at(facts)}{_why(facts)}."),
    ),
    TaskState.UPSTREAM_FAILED: (
        Cause(
            "upstream failed",
            lambda facts: True,
            lambda facts: (
                f"It never began, because of {failed_before(facts)} before it"
                + (f" and its rule {facts.plan.trigger_rule}" if facts.plan else "")
                + ". `bide tasks clear --downstream` of those lets it run."
            ),
        ),
    ),
    TaskState.REMOVED: (
        STOPPING,
        Cause(
            "removed",
            lambda facts: True,
            lambda facts: (
                f"It was taken out of the run{at(facts)}, because it is no longer in the DAG. "
                "Bring it back into the file, and the next run has it."
            ),
        ),
    ),
}
