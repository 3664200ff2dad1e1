"""Every sensor waits without a worker if it is told to: those that come along, and those of one's own."""

from datetime import timedelta
from typing import Any

import pendulum

from bide import DAG, BaseSensorOperator, Context, PokeReturnValue
from bide.sensors.bash import BashSensor
from bide.sensors.date_time import DateTimeSensor


class OfficeIsOpen(BaseSensorOperator):
    """Has only a `poke`, which may block. It is called in a thread where triggers run, and knows no worker."""

    def __init__(self, *, opens: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.opens = opens

    def poke(self, context: Context) -> PokeReturnValue:
        hour = context["logical_date"].hour if context["logical_date"] else 0
        return PokeReturnValue(hour >= self.opens, f"open since {self.opens}")


with DAG(
    "defer_sensors",
    schedule=None,
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    tags=["example"],
    default_args={"deferrable": True},
):
    DateTimeSensor(task_id="evening", target_time="{{ logical_date.add(hours=8) }}")
    BashSensor(task_id="command", bash_command="test -d /tmp", poke_interval=30)
    # Its time is up after an hour, whatever waits and looks there were; then it counts as skipped.
    OfficeIsOpen(task_id="office", opens=25, timeout=timedelta(hours=1), poke_interval=600, soft_fail=True)
