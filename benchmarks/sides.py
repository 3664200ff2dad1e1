"""What is compared: sides that have one method for each verb. The engine's side stands here, its floor beside it.

`Engine` says the verbs through the store, as the services will: structs in, fences and guards in SQL, structs out.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from benchmarks.bed import EVENT, WHO, Task, new_wait
from bide.store import deferral, holding, legs, queueing
from bide.store.database import Database
from bide.store.rows import Leg, XCom

RESULT = '"s3://bucket/result"'
VERBS = ("enqueue", "start", "defer", "claim", "fire", "end", "succeed")

Batch = Sequence[Task]
Saying = Callable[[], Awaitable[None]]


class Side(Protocol):
    """Prepares a verb about a batch; calling what comes back says it, and only that is timed."""

    def enqueue(self, batch: Batch) -> Saying: ...
    def start(self, batch: Batch) -> Saying: ...
    def defer(self, batch: Batch) -> Saying: ...
    def claim(self, batch: Batch) -> Saying: ...
    def fire(self, batch: Batch) -> Saying: ...
    def end(self, batch: Batch) -> Saying: ...
    def succeed(self, batch: Batch) -> Saying: ...


def expect(found: int, wanted: int) -> None:
    """A refused row would make the figure a lie."""
    if found != wanted:
        raise AssertionError(f"{found} of {wanted} rows were changed")


class Engine:
    """The verbs as the product says them."""

    def __init__(self, db: Database, triggerer: int, worker: int) -> None:
        self._db = db
        self._triggerer = triggerer
        self._worker = worker
        self._waiting: dict[int, Task] = {}
        self.turn = 0

    def enqueue(self, batch: Batch) -> Saying:
        fences = [Leg(task.id, task.leg) for task in batch]

        async def say() -> None:
            answer = await queueing.enqueue(self._db, WHO, self.turn, fences)
            self.turn += 1
            expect(len(answer), len(batch))
            for task, row in zip(batch, answer, strict=True):
                task.leg = row.leg

        return say

    def start(self, batch: Batch) -> Saying:
        fences = [Leg(task.id, task.leg) for task in batch]

        async def say() -> None:
            expect(len(await legs.start(self._db, WHO, self._worker, fences)), len(batch))

        return say

    def defer(self, batch: Batch) -> Saying:
        waits = [new_wait(task) for task in batch]

        async def say() -> None:
            expect(len(await deferral.defer(self._db, WHO, waits)), len(batch))
            self._waiting |= {task.trigger_id: task for task in batch}

        return say

    def claim(self, batch: Batch) -> Saying:
        async def say() -> None:
            # Which waits these are is the database's choice.
            answer = await holding.claim(self._db, WHO, self._triggerer, [""], len(batch))
            expect(len(answer), len(batch))
            for row in answer:
                self._waiting.pop(row.id).claim = row.claim

        return say

    def fire(self, batch: Batch) -> Saying:
        waits = [deferral.Fired(task.trigger_id, task.claim, EVENT) for task in batch]

        async def say() -> None:
            expect(len(await deferral.fire(self._db, WHO, waits)), len(batch))

        return say

    def end(self, batch: Batch) -> Saying:
        waits = [deferral.Ended(task.trigger_id, task.claim, "success") for task in batch]
        xcoms = [XCom(task.trigger_id, task.claim, "return_value", RESULT) for task in batch]

        async def say() -> None:
            expect(len(await deferral.end(self._db, WHO, waits, xcoms)), len(batch))

        return say

    def succeed(self, batch: Batch) -> Saying:
        fences = [Leg(task.id, task.leg) for task in batch]
        xcoms = [XCom(task.id, task.leg, "return_value", RESULT) for task in batch]

        async def say() -> None:
            expect(len(await legs.succeed(self._db, WHO, fences, xcoms)), len(batch))

        return say
