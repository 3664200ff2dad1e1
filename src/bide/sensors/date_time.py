"""A sensor for a date."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Unpack

from bide.authoring import BaseSensorOperator, BaseTrigger, Context, SensorArguments, utcnow
from bide.exceptions import TaskFailed
from bide.triggers.temporal import DateTimeTrigger


class DateTimeSensor(BaseSensorOperator):
    """Waits until a date has come. It may be a template, such as "{{ data_interval_end.add(hours=2) }}"."""

    template_fields: Collection[str] = ("target_time",)
    has_both_modes = True

    def __init__(self, *, target_time: str | datetime, **kwargs: Unpack[SensorArguments]) -> None:
        super().__init__(**kwargs)
        self.target_time = target_time

    def poke(self, context: Context) -> bool:
        """Look at the clock."""
        self.log.info("Waiting until %s", self.target_time)
        return utcnow() >= self._target()

    def trigger(self, context: Context) -> BaseTrigger:
        """Let the date be a row."""
        return DateTimeTrigger(self._target(), end_from_trigger=self.ends_in_trigger)

    def _target(self) -> datetime:
        if isinstance(self.target_time, datetime):
            target = self.target_time
        else:
            try:
                target = datetime.fromisoformat(self.target_time)
            except ValueError:
                raise TaskFailed(f"target_time {self.target_time!r} is no date in ISO form.") from None
        return target if target.tzinfo is not None else target.replace(tzinfo=self.dag.timezone or UTC)
