"""A sensor for some time after a run's data interval."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Unpack

from bide.authoring import BaseSensorOperator, BaseTrigger, Context, SensorArguments, utcnow
from bide.triggers.temporal import DateTimeTrigger


class TimeDeltaSensor(BaseSensorOperator):
    """Waits until some time after the end of the run's data interval; without one, after its logical date or start."""

    has_both_modes = True

    def __init__(self, *, delta: timedelta, **kwargs: Unpack[SensorArguments]) -> None:
        super().__init__(**kwargs)
        self.delta = delta

    def poke(self, context: Context) -> bool:
        """Look at the clock."""
        target = self._target(context)
        self.log.info("Waiting until %s", target)
        return utcnow() >= target

    def trigger(self, context: Context) -> BaseTrigger:
        """Let the date be a row."""
        return DateTimeTrigger(self._target(context), end_from_trigger=self.ends_in_trigger)

    def _target(self, context: Context) -> datetime:
        run = context["dag_run"]
        begin: datetime = run.data_interval_end or run.logical_date or run.start_date or context["ti"].start_date
        return begin + self.delta
