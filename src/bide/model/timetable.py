"""What the schedule of a DAG means: which run comes next, which data it is about, and when it is due.

A rhythm (a cron expression, or a beat of equal steps) has ticks. Without `trigger` a run is about the interval between
two ticks, has the first as its logical date and is due at the second. With `trigger` it is due at a tick, and about so
many seconds before it as `interval` says, which normally are none; their beginning is its logical date. Intervals
between ticks follow one another without a gap or an overlap, also where clocks are put back or forward.

With `catchup` every tick since the start gets its run; without it only the latest does, and what was missed is passed
over. Whoever launches runs keeps the interval of the last one and asks again; nothing else is remembered.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from bide.errors import PlanError
from bide.model.cron import Cron, Several
from bide.model.plan import DagPlan, SchedulePlan
from bide.model.wait import LONGEST_WAIT
from bide.model.zone import zone_of

OLDEST_START = 1900
SHORTEST_STEP = timedelta(seconds=1)
NEAR_A_TICK = timedelta(minutes=5)
NEAR_IN_PARTS = 10

_TICK = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Interval(Struct, frozen=True):
    """The time that the data of a run is from: `start` belongs to it, `end` does not."""

    start: datetime
    end: datetime


class NextRun(Struct, frozen=True):
    """A run that is to be launched when it is due."""

    logical_date: datetime
    interval: Interval
    due_at: datetime


class CronArguments(Struct, frozen=True):
    """Arguments of the kind `cron`."""

    expression: str
    timezone: str = "UTC"
    trigger: bool = False
    interval: float = 0.0
    # Expressions beside the first one: a run comes when any of them does.
    more: tuple[str, ...] = ()


class DeltaArguments(Struct, frozen=True):
    """Arguments of the kind `delta`."""

    seconds: float
    trigger: bool = False
    interval: float = 0.0


class NoArguments(Struct, frozen=True):
    """The other kinds need none."""


Arguments = CronArguments | DeltaArguments | NoArguments
_ARGUMENTS: dict[str, type[Arguments]] = {
    "none": NoArguments,
    "once": NoArguments,
    "continuous": NoArguments,
    "cron": CronArguments,
    "delta": DeltaArguments,
}


class Rhythm(Protocol):
    """Ticks. Where there is no further one, it raises OverflowError."""

    def after(self, moment: datetime) -> datetime:
        """Return the first tick after a moment."""

    def before(self, moment: datetime) -> datetime:
        """Return the last tick before a moment."""


class Beat(Struct, frozen=True):
    """Ticks in equal steps."""

    anchor: datetime
    step: timedelta

    def after(self, moment: datetime) -> datetime:
        """Return the first tick after a moment."""
        return self.anchor + ((moment - self.anchor) // self.step + 1) * self.step

    def before(self, moment: datetime) -> datetime:
        """Return the last tick before a moment."""
        return self.anchor + (-((self.anchor - moment) // self.step) - 1) * self.step


def next_run(plan: DagPlan, last: Interval | None, now: datetime) -> NextRun | None:
    """Return the run that follows the last one that was launched by schedule; None if none ever will."""
    arguments = arguments_of(plan.schedule)
    found: NextRun | None
    try:
        match arguments:
            case CronArguments() | DeltaArguments():
                rhythm = _rhythm(plan, arguments, last)
                found = (
                    _before(_at_tick(plan, rhythm, last, now), arguments.interval)
                    if arguments.trigger
                    else _over_interval(plan, rhythm, last, now)
                )
            case NoArguments():
                found = _WITHOUT_RHYTHM[plan.schedule.kind](plan, last, now)
    except OverflowError:
        return None
    # The moment counts at which a run goes on from the last one, or has its tick; of intervals the beginning.
    by_due_date = plan.schedule.kind == "continuous" or getattr(arguments, "trigger", False)
    bound = found and (found.due_at if by_due_date else found.logical_date)
    return None if bound and plan.end_date and bound > plan.end_date else found


def manual_interval(plan: DagPlan, moment: datetime) -> Interval:
    """Return the interval of a run that a person launches: the last complete one, where runs are about intervals."""
    arguments = arguments_of(plan.schedule)
    try:
        match arguments:
            case CronArguments(trigger=False):
                rhythm = _rhythm(plan, arguments, None)
                end = _at_or_before(rhythm, moment)
                return Interval(rhythm.before(end), end)
            case DeltaArguments(trigger=False, seconds=seconds):
                return Interval(moment - timedelta(seconds=seconds), moment)
            case CronArguments(interval=seconds) | DeltaArguments(interval=seconds):
                return Interval(moment - timedelta(seconds=seconds), moment)
    except OverflowError:
        pass
    return Interval(moment, moment)


def run_id_for(run_type: str, logical_date: datetime) -> str:
    """Name a run, so that it cannot be launched twice for one date."""
    return f"{run_type}__{logical_date.astimezone(UTC).isoformat()}"


def problems_of_schedule(plan: DagPlan) -> Iterator[str]:
    """Find what makes a schedule impossible, in sentences for its author."""
    if plan.start_date and plan.start_date.year < OLDEST_START:
        yield f"start_date is {plan.start_date.isoformat()}; it must not lie before {OLDEST_START}."
    if plan.schedule.kind == "continuous" and plan.max_active_runs != 1:
        yield (
            "With the schedule @continuous a run begins when the last one has ended; set max_active_runs to 1, "
            f"not {plan.max_active_runs}."
        )
    try:
        arguments = arguments_of(plan.schedule)
        zone_of(plan.timezone)
        if isinstance(arguments, CronArguments):
            yield from _of_cron(arguments)
        elif isinstance(arguments, DeltaArguments) and not (
            SHORTEST_STEP.total_seconds() <= arguments.seconds <= LONGEST_WAIT.total_seconds()
        ):
            yield f"The schedule comes every {arguments.seconds:g} s; that must be 1 s to {LONGEST_WAIT.days} days."
    except PlanError as error:
        yield str(error)


def _of_cron(arguments: CronArguments) -> Iterator[str]:
    for cron in crons(arguments):
        try:
            cron.after(_EPOCH)
        except OverflowError:
            yield f"The cron expression {cron.expression!r} names a date that never comes; correct the day or month."


def arguments_of(schedule: SchedulePlan) -> Arguments:
    """Read the arguments of a schedule."""
    if schedule.kind not in _ARGUMENTS:
        raise PlanError(f"The schedule is of the kind {schedule.kind[:100]!r}, which this Bide does not know.")
    kind: Any = _ARGUMENTS[schedule.kind]
    try:
        found: Arguments = msgspec.convert(schedule.arguments, kind)
    except msgspec.ValidationError as error:
        raise PlanError(
            f"The schedule is of the kind {schedule.kind!r}, but its arguments are wrong: {error}."
        ) from None
    return found


def crons(arguments: CronArguments) -> list[Cron]:
    """Return the rhythms of the expressions."""
    zone = zone_of(arguments.timezone)
    return [Cron(expression, zone) for expression in (arguments.expression, *arguments.more)]


def _rhythm(plan: DagPlan, arguments: CronArguments | DeltaArguments, last: Interval | None) -> Rhythm:
    if isinstance(arguments, CronArguments):
        return Several(crons(arguments)) if arguments.more else crons(arguments)[0]
    # Steps go on from the last run, so that intervals stay neighbours when the start has been moved.
    return Beat(last.end if last else _start(plan) or _EPOCH, timedelta(seconds=arguments.seconds))


def _over_interval(plan: DagPlan, rhythm: Rhythm, last: Interval | None, now: datetime) -> NextRun:
    starts = []
    if last:
        # If the schedule has changed, the end of the last interval need not be a tick, and the tick before it may be
        # that of the last run, or even of an earlier one.
        starts.append(max(_at_or_before(rhythm, last.end), rhythm.after(last.start)))
    if start := _start(plan):
        starts.append(_at_or_after(rhythm, start))
    if not (plan.catchup and starts):
        starts.append(rhythm.before(_at_or_before(rhythm, now)))
    begin = max(starts)
    end = rhythm.after(begin)
    return NextRun(begin, Interval(begin, end), end)


def _at_tick(plan: DagPlan, rhythm: Rhythm, last: Interval | None, now: datetime) -> NextRun:
    ticks = []
    if last:
        ticks.append(rhythm.after(last.end))
    if start := _start(plan):
        ticks.append(_at_or_after(rhythm, start))
    if not ticks:
        ticks.append(_first_tick(rhythm, now))
    elif not plan.catchup:
        ticks.append(_at_or_before(rhythm, now))
    return _at(max(ticks))


def _before(found: NextRun, seconds: float) -> NextRun:
    start = found.due_at - timedelta(seconds=seconds)
    return NextRun(start, Interval(start, found.due_at), found.due_at)


def _first_tick(rhythm: Rhythm, now: datetime) -> datetime:
    """Nobody has said when to start: with the next tick, or with one that has only just been missed."""
    past, coming = _at_or_before(rhythm, now), rhythm.after(now)
    near = max((coming - past) / NEAR_IN_PARTS, NEAR_A_TICK)
    return past if now - past <= near else coming


def _never(_plan: DagPlan, _last: Interval | None, _now: datetime) -> NextRun | None:
    return None


def _once(plan: DagPlan, last: Interval | None, now: datetime) -> NextRun | None:
    return None if last else _at(_start(plan) or now)


def _continuous(plan: DagPlan, last: Interval | None, now: datetime) -> NextRun | None:
    start = _start(plan) or now
    if last:
        # The start is the logical date, and no two runs may have the same.
        start = last.end if last.end > last.start else last.end + _TICK
    end = max(start, now)
    return NextRun(start, Interval(start, end), end)


_WITHOUT_RHYTHM: dict[str, Callable[[DagPlan, Interval | None, datetime], NextRun | None]] = {
    "none": _never,
    "once": _once,
    "continuous": _continuous,
}


def _start(plan: DagPlan) -> datetime | None:
    # In UTC, because a step from a date in a zone of its own would be one on the wall.
    return plan.start_date and plan.start_date.astimezone(UTC)


def _at(moment: datetime) -> NextRun:
    return NextRun(moment, Interval(moment, moment), moment)


def _at_or_after(rhythm: Rhythm, moment: datetime) -> datetime:
    return rhythm.after(moment - _TICK)


def _at_or_before(rhythm: Rhythm, moment: datetime) -> datetime:
    return rhythm.before(moment + _TICK)
