"""Trigger rules: when a task may start, judged by how its direct upstream tasks ended.

Two principles hold for every rule:

* A verdict is final. Whatever the unfinished upstreams become, it would be the same; until then the verdict
  is WAIT. So it does not matter in which order upstreams end, nor how often a scheduler looks.
* What was removed is not there: removed upstreams neither fulfil a rule nor stand in its way.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from enum import Enum, StrEnum

from msgspec import Struct

from bide.model.states import TaskState


class TriggerRule(StrEnum):
    """The condition on its direct upstream tasks under which a task starts."""

    ALL_SUCCESS = "all_success"
    ALL_FAILED = "all_failed"
    ALL_DONE = "all_done"
    ALL_SKIPPED = "all_skipped"
    ONE_SUCCESS = "one_success"
    ONE_FAILED = "one_failed"
    ONE_DONE = "one_done"
    NONE_FAILED = "none_failed"
    NONE_FAILED_MIN_ONE_SUCCESS = "none_failed_min_one_success"
    NONE_SKIPPED = "none_skipped"
    ALL_DONE_SETUP_SUCCESS = "all_done_setup_success"
    ALWAYS = "always"


class Verdict(Enum):
    """What a trigger rule says about a task."""

    WAIT = "wait"
    READY = "ready"
    SKIP = "skip"
    UPSTREAM_FAILED = "upstream_failed"


class Upstream(Struct, frozen=True, kw_only=True):
    """How many direct upstream task instances there are, and how they ended; mapped instances count each.

    A mapped upstream that has not been expanded yet counts as one that is unfinished.
    The setup figures are part of the others: a setup task that succeeded counts in both.
    """

    total: int
    success: int = 0
    failed: int = 0
    upstream_failed: int = 0
    skipped: int = 0
    removed: int = 0
    setup_total: int = 0
    setup_success: int = 0
    setup_skipped: int = 0
    setup_removed: int = 0

    @classmethod
    def of(cls, states: Iterable[TaskState], setup_states: Iterable[TaskState] = ()) -> "Upstream":
        """Count ordinary upstream task instances and upstream setup task instances."""
        setups = Counter(setup_states)
        everyone = Counter(states) + setups
        return cls(
            total=everyone.total(),
            success=everyone[TaskState.SUCCESS],
            failed=everyone[TaskState.FAILED],
            upstream_failed=everyone[TaskState.UPSTREAM_FAILED],
            skipped=everyone[TaskState.SKIPPED],
            removed=everyone[TaskState.REMOVED],
            setup_total=setups.total(),
            setup_success=setups[TaskState.SUCCESS],
            setup_skipped=setups[TaskState.SKIPPED],
            setup_removed=setups[TaskState.REMOVED],
        )

    @property
    def present(self) -> int:
        return self.total - self.removed

    @property
    def failures(self) -> int:
        return self.failed + self.upstream_failed

    @property
    def all_done(self) -> bool:
        return self.present == self.success + self.failures + self.skipped


def judge(rule: TriggerRule, upstream: Upstream) -> Verdict:
    """Say whether a task with this rule and these upstreams waits, starts, is skipped or cannot start."""
    if rule is TriggerRule.ALWAYS or upstream.present == 0:
        return Verdict.READY
    return _JUDGES[rule](upstream)


def _all_success(up: Upstream) -> Verdict:
    if up.failures:
        return Verdict.UPSTREAM_FAILED
    if not up.all_done:
        # Even beside a skipped one: a failure may still come, and failure outranks skipping.
        return Verdict.WAIT
    return Verdict.SKIP if up.skipped else Verdict.READY


def _all_failed(up: Upstream) -> Verdict:
    if up.success or up.skipped:
        return Verdict.SKIP
    return _ready_when(up.all_done)


def _all_done(up: Upstream) -> Verdict:
    return _ready_when(up.all_done)


def _all_skipped(up: Upstream) -> Verdict:
    if up.success or up.failures:
        return Verdict.SKIP
    return _ready_when(up.all_done)


def _one_success(up: Upstream) -> Verdict:
    if up.success:
        return Verdict.READY
    if not up.all_done:
        return Verdict.WAIT
    return Verdict.UPSTREAM_FAILED if up.failures else Verdict.SKIP


def _one_failed(up: Upstream) -> Verdict:
    if up.failures:
        return Verdict.READY
    return Verdict.SKIP if up.all_done else Verdict.WAIT


def _one_done(up: Upstream) -> Verdict:
    if up.success or up.failed:  # upstream_failed does not count: such a task never ran
        return Verdict.READY
    return Verdict.SKIP if up.all_done else Verdict.WAIT


def _none_failed(up: Upstream) -> Verdict:
    if up.failures:
        return Verdict.UPSTREAM_FAILED
    return _ready_when(up.all_done)


def _none_failed_min_one_success(up: Upstream) -> Verdict:
    if up.failures:
        return Verdict.UPSTREAM_FAILED
    if not up.all_done:
        return Verdict.WAIT
    return Verdict.READY if up.success else Verdict.SKIP


def _none_skipped(up: Upstream) -> Verdict:
    if up.skipped:
        return Verdict.SKIP
    return _ready_when(up.all_done)


def _all_done_setup_success(up: Upstream) -> Verdict:
    """Teardowns: there is something to tear down if at least one setup succeeded, or none was asked for."""
    if not up.all_done:
        return Verdict.WAIT
    setups = up.setup_total - up.setup_removed
    if setups == 0 or up.setup_success:
        return Verdict.READY
    return Verdict.SKIP if up.setup_skipped == setups else Verdict.UPSTREAM_FAILED


def _ready_when(holds: bool) -> Verdict:
    return Verdict.READY if holds else Verdict.WAIT


_JUDGES: dict[TriggerRule, Callable[[Upstream], Verdict]] = {
    TriggerRule.ALL_SUCCESS: _all_success,
    TriggerRule.ALL_FAILED: _all_failed,
    TriggerRule.ALL_DONE: _all_done,
    TriggerRule.ALL_SKIPPED: _all_skipped,
    TriggerRule.ONE_SUCCESS: _one_success,
    TriggerRule.ONE_FAILED: _one_failed,
    TriggerRule.ONE_DONE: _one_done,
    TriggerRule.NONE_FAILED: _none_failed,
    TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS: _none_failed_min_one_success,
    TriggerRule.NONE_SKIPPED: _none_skipped,
    TriggerRule.ALL_DONE_SETUP_SUCCESS: _all_done_setup_success,
}
