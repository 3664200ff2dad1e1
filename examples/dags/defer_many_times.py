"""A task that waits again and again: for each item of a list it goes to a trigger, and comes back to `execute`."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pendulum

from bide import DAG, BaseOperator, BaseTrigger, Context, TriggerEvent
from bide.exceptions import TaskError


class ParcelTrigger(BaseTrigger):
    """Waits until a parcel has arrived. What goes wrong is told as an event, so that the task decides about it."""

    def __init__(self, parcel: str) -> None:
        super().__init__()
        self.parcel = parcel

    async def run(self) -> AsyncIterator[TriggerEvent]:
        await asyncio.sleep(3600)
        yield TriggerEvent({"lost": self.parcel} if self.parcel == "glass" else {"weight": len(self.parcel)})


class WeighParcels(BaseOperator):
    """Adds up the weights of parcels that arrive one after the other."""

    def __init__(self, *, parcels: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.parcels = parcels

    def execute(self, context: Context, done: int = 0, total: int = 0, event: dict[str, Any] | None = None) -> int:
        if event is not None:
            if "lost" in event:
                raise TaskError(f"{event['lost']} was lost on the way")
            done, total = done + 1, total + event["weight"]
        if done < len(self.parcels):
            self.defer(trigger=ParcelTrigger(self.parcels[done]), kwargs={"done": done, "total": total})
        return total


with DAG("defer_many_times", schedule=None, start_date=pendulum.datetime(2026, 1, 1, tz="UTC"), tags=["example"]):
    WeighParcels(task_id="weigh", parcels=["books", "tea", "lamp"])
    WeighParcels(task_id="weigh_glass", parcels=["books", "glass", "lamp"])
