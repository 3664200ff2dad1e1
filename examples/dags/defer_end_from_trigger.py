"""A task that its trigger ends: retries, callbacks and XComs are as if a worker had done it, and none is needed."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pendulum

from bide import (
    DAG,
    BaseOperator,
    BaseTrigger,
    StartTriggerArgs,
    TaskFailedEvent,
    TaskSkippedEvent,
    TaskSuccessEvent,
    TriggerEvent,
)


class BallotTrigger(BaseTrigger):
    """Waits until the votes are counted, and ends the task as they say."""

    def __init__(self, votes: dict[str, int], takes: timedelta) -> None:
        super().__init__()
        self.votes = votes
        self.takes = takes

    async def run(self) -> AsyncIterator[TriggerEvent]:
        await asyncio.sleep(self.takes.total_seconds())
        yes, no = self.votes["yes"], self.votes["no"]
        if yes > no:
            yield TaskSuccessEvent(xcoms={"return_value": f"{yes} to {no}"})
        elif yes < no:
            yield TaskFailedEvent(reason=f"{no} to {yes} against it")
        else:
            yield TaskSkippedEvent(reason="nobody has won")


class Ballot(BaseOperator):
    """Begins and ends in its trigger: such a task never sees a worker."""

    def __init__(self, *, yes: int, no: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_from_trigger = True
        self.start_trigger_args = StartTriggerArgs(
            BallotTrigger, trigger_kwargs={"votes": {"yes": yes, "no": no}, "takes": timedelta(hours=5)}
        )


with DAG("defer_end_from_trigger", schedule=None, start_date=pendulum.datetime(2026, 1, 1, tz="UTC"), tags=["example"]):
    Ballot(task_id="accepted", yes=7, no=3) >> Ballot(task_id="undecided", yes=5, no=5)
    Ballot(task_id="rejected", yes=1, no=9)
