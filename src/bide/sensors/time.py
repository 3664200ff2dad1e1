"""A sensor for a time of day."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import Unpack

from bide.authoring import BaseSensorOperator, BaseTrigger, Context, SensorArguments, utcnow
from bide.triggers.temporal import DateTimeTrigger


class TimeSensor(BaseSensorOperator):
    """Waits until it is a time of day, today, in the time zone of the DAG."""

    has_both_modes = True

    def __init__(self, *, target_time: time, **kwargs: Unpack[SensorArguments]) -> None:
        super().__init__(**kwargs)
        self.target_time = target_time

    def poke(self, context: Context) -> bool:
        """Look at the clock."""
        target = self._target(context)
        self.log.info("Waiting until %s", target)
        return utcnow() >= target

    def trigger(self, context: Context) -> BaseTrigger:
        """Let the date be a row."""
        return DateTimeTrigger(self._target(context), end_from_trigger=self.ends_in_trigger)

    def _target(self, context: Context) -> datetime:
        # The day is that on which the try began: waiting past midnight is not waiting for another day.
        zone = self.dag.timezone or UTC
        today = context["ti"].start_date.astimezone(zone).date()
        return datetime.combine(today, self.target_time.replace(tzinfo=self.target_time.tzinfo or zone))
