"""Triggers for a date and for a while. They are rows with a date: no process ever runs them."""

from __future__ import annotations

from datetime import datetime, timedelta

from bide.authoring import BaseTrigger, TaskSuccessEvent, Timer, TriggerEvent, mistake


class DateTimeTrigger(BaseTrigger):
    """Waits until a date, and yields it. With `end_from_trigger` the task has succeeded then."""

    def __init__(self, moment: datetime, *, end_from_trigger: bool = False) -> None:
        super().__init__()
        if not isinstance(moment, datetime):
            raise mistake(f"DateTimeTrigger waits for a datetime, not for {moment!r}.")
        self.moment = moment
        self.end_from_trigger = end_from_trigger

    def timer(self) -> Timer:
        """Say when."""
        return Timer(self.moment, TaskSuccessEvent() if self.end_from_trigger else TriggerEvent(self.moment))


class TimeDeltaTrigger(BaseTrigger):
    """Waits for a while from the moment on at which the task defers, and yields how long that was."""

    def __init__(self, delta: timedelta, *, end_from_trigger: bool = False) -> None:
        super().__init__()
        if not isinstance(delta, timedelta):
            raise mistake(f"TimeDeltaTrigger waits for a timedelta, not for {delta!r}.")
        self.delta = delta
        self.end_from_trigger = end_from_trigger

    def timer(self) -> Timer:
        """Say when."""
        return Timer(self.delta, TaskSuccessEvent() if self.end_from_trigger else TriggerEvent(self.delta))
