"""When a DAG is to run, as its author says it, turned into what the plan keeps of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from bide.authoring.asset import Asset
from bide.authoring.place import kind_of, mistake, near
from bide.model.plan import SchedulePlan

PRESETS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
}
_OTHER = {"@once": "once", "@continuous": "continuous"}
_EXAMPLE = "write '@daily', a cron line such as '30 6 * * *', a timedelta, or None"


class Timetable:
    """A rule that says when a DAG runs."""

    def plan(self) -> SchedulePlan:
        """Turn it into what the plan keeps of it."""
        raise NotImplementedError


class CronDataIntervalTimetable(Timetable):
    """Runs at the times of a cron line, each for the stretch between the time before and its own."""

    def __init__(self, cron: str, timezone: str | tzinfo) -> None:
        self.cron = cron
        self.timezone = zone_name(timezone)
        self.expression = _checked(cron)

    def arguments(self) -> dict[str, Any]:
        """Return what the plan keeps."""
        return {"expression": self.expression, "timezone": self.timezone}

    def plan(self) -> SchedulePlan:
        """Turn it into what the plan keeps of it."""
        summary = self.cron if self.timezone == "UTC" else f"{self.cron} ({self.timezone})"
        return SchedulePlan(kind="cron", arguments=self.arguments(), summary=summary)


class CronTriggerTimetable(CronDataIntervalTimetable):
    """Runs at the times of a cron line, each for that moment, or for as much time before it as `interval` says."""

    def __init__(
        self,
        cron: str,
        *,
        timezone: str | tzinfo,
        interval: timedelta = timedelta(0),
        run_immediately: bool = False,
    ) -> None:
        super().__init__(cron, timezone)
        if run_immediately:
            raise mistake("CronTriggerTimetable does not take run_immediately; launch the first run with catchup.")
        self.interval = _interval(interval)

    def arguments(self) -> dict[str, Any]:
        """Return what the plan keeps."""
        return {**super().arguments(), "trigger": True, **_about(self.interval)}


class MultipleCronTriggerTimetable(Timetable):
    """Runs at the times of several cron lines; where they meet there is one run."""

    def __init__(
        self,
        *crons: str,
        timezone: str | tzinfo,
        interval: timedelta = timedelta(0),
        run_immediately: bool = False,
    ) -> None:
        if not crons:
            raise mistake("MultipleCronTriggerTimetable needs cron lines, such as '30 6 * * *'.")
        first, *others = (
            CronTriggerTimetable(cron, timezone=timezone, interval=interval, run_immediately=run_immediately)
            for cron in crons
        )
        self._first, self._more = first, [other.expression for other in others]
        self._crons = crons

    def plan(self) -> SchedulePlan:
        """Turn it into what the plan keeps of it."""
        zone = self._first.timezone
        summary = ", ".join(self._crons) + ("" if zone == "UTC" else f" ({zone})")
        return SchedulePlan(kind="cron", arguments={**self._first.arguments(), "more": self._more}, summary=summary)


class DeltaDataIntervalTimetable(Timetable):
    """Runs again and again, each for the time since the run before."""

    def __init__(self, delta: timedelta) -> None:
        if not isinstance(delta, timedelta) or delta <= timedelta(0):
            raise mistake(f"A schedule needs a timedelta that is longer than nothing, not {delta!r}.")
        self.delta = delta

    def arguments(self) -> dict[str, Any]:
        """Return what the plan keeps."""
        return {"seconds": self.delta.total_seconds()}

    def plan(self) -> SchedulePlan:
        """Turn it into what the plan keeps of it."""
        return SchedulePlan(kind="delta", arguments=self.arguments(), summary=f"every {self.delta}")


class DeltaTriggerTimetable(DeltaDataIntervalTimetable):
    """Runs again and again, each for its moment, or for as much time before it as `interval` says."""

    def __init__(self, delta: timedelta, *, interval: timedelta = timedelta(0)) -> None:
        super().__init__(delta)
        self.interval = _interval(interval)

    def arguments(self) -> dict[str, Any]:
        """Return what the plan keeps."""
        return {**super().arguments(), "trigger": True, **_about(self.interval)}


def schedule_plan(schedule: object, zone: tzinfo | None) -> SchedulePlan:
    """Turn whatever an author has given as `schedule` into what the plan keeps of it; cron lines are in this zone."""
    if schedule is None:
        return SchedulePlan(summary="only when somebody launches it")
    if isinstance(schedule, str):
        if schedule in _OTHER:
            return SchedulePlan(kind=_OTHER[schedule], summary=schedule)
        return CronTriggerTimetable(schedule, timezone=zone or "UTC").plan()
    if isinstance(schedule, timedelta):
        return DeltaTriggerTimetable(schedule).plan()
    if isinstance(schedule, Timetable):
        return schedule.plan()
    if isinstance(schedule, Asset) or (isinstance(schedule, list | tuple) and schedule):
        raise mistake("Schedules on assets do not work yet; give a time instead, or None.")
    raise mistake(f"schedule is {kind_of(schedule)}; {_EXAMPLE}.")


def _interval(interval: object) -> timedelta:
    if not isinstance(interval, timedelta) or interval < timedelta(0):
        raise mistake(f"interval is {interval!r}; it must be a timedelta that is not negative.")
    return interval


def _about(interval: timedelta) -> dict[str, Any]:
    return {"interval": interval.total_seconds()} if interval else {}


def zone_name(zone: str | tzinfo) -> str:
    """Find the name of a time zone. An offset alone does not say when the clocks of a place change."""
    name = zone if isinstance(zone, str) else getattr(zone, "key", None) or zone.tzname(None)
    try:
        return ZoneInfo(str(name)).key
    except (KeyError, ValueError, OSError):
        raise mistake(f"{name!r} is no time zone with a name, such as 'Europe/Berlin'.") from None


def _checked(cron: str) -> str:
    if not isinstance(cron, str):
        raise mistake(f"A cron line is a text, not {kind_of(cron)}.")
    if cron.startswith("@") and cron not in PRESETS:
        raise mistake(f"schedule {cron!r} is unknown{near(cron, [*PRESETS, *_OTHER])}")
    expression = PRESETS.get(cron, cron)
    try:
        next(CronSim(expression, datetime(2024, 1, 1, tzinfo=UTC)))
    except (CronSimError, StopIteration) as error:
        why = str(error) or "its time never comes"
        raise mistake(f"schedule {cron!r} is no cron line ({why}); {_EXAMPLE}.") from None
    return expression
