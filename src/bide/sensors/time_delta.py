"""A sensor for some time after a run's data interval."""

from __future__ import annotations

from datetime import timedelta
from typing import Unpack

from bide.authoring import BaseSensorOperator, Context, SensorArguments, utcnow


class TimeDeltaSensor(BaseSensorOperator):
    """Waits until some time after the end of the run's data interval; without one, after its logical date or start."""

    def __init__(self, *, delta: timedelta, **kwargs: Unpack[SensorArguments]) -> None:
        super().__init__(**kwargs)
        self.delta = delta

    def poke(self, context: Context) -> bool:
        """Look at the clock."""
        run = context["dag_run"]
        begin = run.data_interval_end or run.logical_date or run.start_date or context["ti"].start_date
        self.log.info("Waiting until %s", begin + self.delta)
        return utcnow() >= begin + self.delta
