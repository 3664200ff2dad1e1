"""A sensor for days of the week."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Unpack

from bide.authoring import BaseSensorOperator, BaseTrigger, Context, SensorArguments, near, utcnow
from bide.exceptions import TaskFailed
from bide.triggers.temporal import DateTimeTrigger, TimeDeltaTrigger


class WeekDay(IntEnum):
    """Days of the week, numbered as ISO numbers them."""

    MONDAY = 1
    TUESDAY = 2
    WEDNESDAY = 3
    THURSDAY = 4
    FRIDAY = 5
    SATURDAY = 6
    SUNDAY = 7


class DayOfWeekSensor(BaseSensorOperator):
    """Waits until it is one of some days of the week, in the time zone of the DAG."""

    has_both_modes = True

    def __init__(
        self,
        *,
        week_day: str | WeekDay | Iterable[str | WeekDay],
        use_task_logical_date: bool = False,
        **kwargs: Unpack[SensorArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.week_days = {self._day(day) for day in ([week_day] if isinstance(week_day, str | WeekDay) else week_day)}
        self.use_task_logical_date = use_task_logical_date

    def _day(self, day: str | WeekDay) -> WeekDay:
        if isinstance(day, WeekDay):
            return day
        names = WeekDay.__members__
        if day.upper() not in names:
            raise self.mistake(f"week_day {day!r} is no day of the week{near(day.upper(), names)}")
        return names[day.upper()]

    def poke(self, context: Context) -> bool:
        """Look at the calendar."""
        date: datetime | None = context["dag_run"].logical_date if self.use_task_logical_date else utcnow()
        if date is None:
            raise TaskFailed("This run has no logical date, so it has no day of the week.")
        today = WeekDay(date.astimezone(self.dag.timezone or UTC).isoweekday())
        self.log.info("Waiting for %s; it is %s", ", ".join(day.name for day in sorted(self.week_days)), today.name)
        return today in self.week_days

    def trigger(self, context: Context) -> BaseTrigger:
        """Let the beginning of the next of these days be a row."""
        if self.poke(context):
            return TimeDeltaTrigger(timedelta(0), end_from_trigger=self.ends_in_trigger)
        if self.use_task_logical_date:  # the day of the run stays what it is
            return TimeDeltaTrigger(timedelta(seconds=self.timeout, days=1))
        midnight = utcnow().astimezone(self.dag.timezone or UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        days = [midnight + timedelta(days=number) for number in range(1, 8)]
        return DateTimeTrigger(
            next(day for day in days if day.isoweekday() in self.week_days), end_from_trigger=self.ends_in_trigger
        )
