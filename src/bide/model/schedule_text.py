"""What a schedule means, in English."""

from bide.model.plan import SchedulePlan
from bide.model.timetable import CronArguments, DeltaArguments, arguments_of, crons

_UNITS = (("week", 604_800), ("day", 86_400), ("hour", 3600), ("minute", 60))


def describe(schedule: SchedulePlan) -> str:
    """Say in English when runs are launched."""
    arguments = arguments_of(schedule)
    match arguments:
        case CronArguments(timezone=timezone):
            return f"{'; '.join(cron.explain() for cron in crons(arguments))}, {timezone}"
        case DeltaArguments(seconds=seconds):
            return f"Every {_in_words(seconds)}"
    return {"once": "Once", "continuous": "Whenever the last run has ended"}.get(schedule.kind, "When asked for")


def _in_words(seconds: float) -> str:
    for unit, size in _UNITS:
        if seconds % size == 0:
            return unit if seconds == size else f"{seconds / size:,.0f} {unit}s"
    return f"{seconds:g} seconds"
