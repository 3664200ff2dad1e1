"""A task that waits without a worker. It leaves when it defers, and goes on in a new instance, on any worker."""

from datetime import timedelta
from typing import Any

import pendulum

from bide import DAG, BaseOperator, Context, conf
from bide.triggers.temporal import TimeDeltaTrigger


class CoolDown(BaseOperator):
    """Lets something cool down before it is looked at."""

    def __init__(
        self, *, minutes: int, deferrable: bool = conf.getboolean("operators", "default_deferrable"), **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.minutes = minutes
        self.deferrable = deferrable

    def execute(self, context: Context) -> str:
        heat = 90
        if self.deferrable:
            # Nothing after this is run, and nothing of `self` is kept: what the next method needs goes along.
            self.defer(
                trigger=TimeDeltaTrigger(timedelta(minutes=self.minutes)),
                method_name="look",
                kwargs={"heat": heat},
                timeout=timedelta(hours=1),
            )
        return self.look(context, heat)

    def look(self, context: Context, heat: int, event: timedelta | None = None) -> str:
        """The event is what the trigger has yielded: here the time that has passed."""
        return f"{heat} degrees at first, {event or 'no time'} later it is cool"


with DAG("defer_first", schedule=None, start_date=pendulum.datetime(2026, 1, 1, tz="UTC"), tags=["example"]):
    CoolDown(task_id="waits_for_free", minutes=30, deferrable=True)
    CoolDown(task_id="does_not_wait", minutes=30, deferrable=False)
