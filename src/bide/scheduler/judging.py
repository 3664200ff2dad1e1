"""What follows for the tasks of one run, from how the tasks before them stand. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from bide.model.plan import TaskPlan
from bide.model.states import TaskState
from bide.model.trigger_rules import Upstream, Verdict, judge

GOOD_PAST = frozenset({TaskState.SUCCESS, TaskState.SKIPPED})


@dataclass
class Standing:
    """How the instances of one task stand: how many in each state, and which of them may be readied."""

    states: Counter[TaskState] = field(default_factory=Counter)
    waiting: dict[int, int] = field(default_factory=dict)  # by id, the map index


@dataclass(frozen=True)
class Picture:
    """One run as it was seen, at one epoch."""

    standings: Mapping[str, Standing]
    # Tasks that a branching task before them has left out.
    left_out: Set[str] = frozenset()
    # Tasks before which something is unfinished that is not among the standings, because there are too many; with all
    # that are before them.
    crowded: Mapping[str, Set[str]] = field(default_factory=dict)
    # Tasks that must look back, with the states of what they look back at.
    past: Mapping[str, Set[TaskState]] = field(default_factory=dict)


@dataclass
class Verdicts:
    """What is to be said about which task instances, and which tasks must be expanded before that."""

    ready: list[int] = field(default_factory=list)
    pass_empty: list[int] = field(default_factory=list)
    skip: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    expand: list[str] = field(default_factory=list)


def judged(tasks: Iterable[TaskPlan], plans: Mapping[str, TaskPlan], picture: Picture) -> Verdicts:
    """Decide about those of these tasks that have not started."""
    verdicts = Verdicts()
    for task in tasks:
        standing = picture.standings.get(task.task_id)
        if standing is None or not standing.waiting:
            continue
        ids = list(standing.waiting)
        match _verdict(task, plans, picture):
            case Verdict.SKIP:
                verdicts.skip += ids
            case Verdict.UPSTREAM_FAILED:
                verdicts.block += ids
            case Verdict.READY if task.mapped is not None:
                verdicts.expand.append(task.task_id)
            case Verdict.READY if task.is_empty:
                verdicts.pass_empty += ids
            case Verdict.READY:
                verdicts.ready += ids
    return verdicts


def _verdict(task: TaskPlan, plans: Mapping[str, TaskPlan], picture: Picture) -> Verdict:
    if task.task_id in picture.left_out:
        return Verdict.SKIP
    if not picture.past.get(task.task_id, frozenset()) <= GOOD_PAST:
        return Verdict.WAIT
    return judge(task.trigger_rule, _upstream(task, plans, picture))


def _upstream(task: TaskPlan, plans: Mapping[str, TaskPlan], picture: Picture) -> Upstream:
    everyone: Counter[TaskState] = Counter()
    setups: Counter[TaskState] = Counter()
    before: Iterable[str] = task.upstream
    if task.task_id in picture.crowded:
        # While something is unfinished, a rule looks only whether one of the others has ended in some way. Those that
        # had ended before were looked at when they did; those that have ended since are among the standings.
        everyone[TaskState.NONE] += 1
        before = picture.standings.keys() & picture.crowded[task.task_id]
    for upstream_id in before:
        standing = picture.standings.get(upstream_id)
        if standing is not None:
            (setups if plans[upstream_id].is_setup else everyone).update(standing.states)
    return Upstream.of(everyone, setups)
