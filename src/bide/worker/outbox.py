"""What the worker has to say in the database: outcomes as verbs, gathered while the last ones are being committed.

An outcome stays here until its verb was carried out. A verb that does not bring its leg back was refused: the leg had
been taken away, and all that is left to say is that its child has stopped.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

from msgspec import Struct

from bide.errors import DatabaseUnavailable
from bide.hosting.batches import some_of
from bide.hosting.logs import LogWriter
from bide.model.outcome import Deferred, Failed, Outcome, Rescheduled, Skipped, Succeeded
from bide.model.retry import Retry, after_failure
from bide.model.wait import Wait
from bide.process.waits import WaitWriter
from bide.store import deferral, legs
from bide.store.database import Database
from bide.store.legs import FailedLeg, RescheduledLeg, SkippedLeg
from bide.store.records import NewRecord, record_legs
from bide.store.rows import Changed, XCom
from bide.store.rows import Leg as LegKey
from bide.worker.leg import Leg

log = logging.getLogger(__name__)

MOST_AT_ONCE = 500


class Said(Struct):
    """One leg and what is to be said about it. Without an outcome: its child has stopped."""

    leg: Leg
    outcome: Outcome | None


class Outbox:
    """Keeps what is to be said until it is committed."""

    def __init__(self, db: Database, waits: WaitWriter, logs: LogWriter, put: Callable[[], None]) -> None:
        """`put` is called when there is something to commit."""
        self.who = ""
        self.worker_id = 0
        self._db = db
        self._waits = waits
        self._logs = logs
        self._put = put
        self._unsaid: dict[LegKey, Said] = {}
        self._records: list[NewRecord] = []
        self._one_at_a_time, self._one_record_at_a_time = asyncio.Lock(), asyncio.Lock()

    def __contains__(self, key: LegKey) -> bool:
        return key in self._unsaid

    def __len__(self) -> int:
        return len(self._unsaid)

    def put(self, leg: Leg, outcome: Outcome | None, record: NewRecord | None) -> None:
        """Say how a leg ended, or that its child has stopped."""
        leg.log.end()
        said = outcome if outcome is None else leg.masked(outcome)
        self._unsaid[leg.key] = Said(leg, said)
        if record is not None:
            self._records.append(record)
        self._put()

    def forget(self) -> None:
        """Say nothing of all this: it is no longer this worker's."""
        self._unsaid.clear()
        self._records.clear()

    async def commit(self) -> set[type[Outcome]] | None:
        """Say what is here, and return what kinds of outcomes it was; None if there was nothing. What fails stays."""
        async with self._one_at_a_time:
            batch, number = some_of(self._unsaid.values(), MOST_AT_ONCE, _length), len(self._unsaid)
            if not batch:
                return None
            # Before its outcome: whoever reads on after the end of a leg finds all of its log.
            await self._logs.store([said.leg.log for said in batch])
            await legs.stopped(self._db, self.who, await self._say(batch))
            for said in batch:
                # It may have been forgotten meanwhile.
                self._unsaid.pop(said.leg.key, None)
            if number > len(batch):
                self._put()
            return {type(said.outcome) for said in batch if said.outcome is not None}

    async def store_records(self) -> None:
        """Store what processes have used. It is worth less than an outcome, so it waits until there are several."""
        # Whoever waits for this waits for those that are on their way, too.
        async with self._one_record_at_a_time:
            records = list(self._records)
            try:
                await record_legs(self._db, self.worker_id, records)
            except DatabaseUnavailable:
                raise
            except Exception:
                log.exception("What %d legs have used could not be stored.", len(records))
            del self._records[: len(records)]

    async def _say(self, batch: Sequence[Said]) -> list[LegKey]:
        """Say the verbs, and return the legs whose children are to be reported stopped."""
        kinds: dict[type[Outcome] | None, list[Said]] = {}
        for said in batch:
            kinds.setdefault(None if said.outcome is None else type(said.outcome), []).append(said)
        stopped = [said.leg.key for said in kinds.pop(None, ())]
        verbs = {
            Succeeded: self._succeed,
            Failed: self._fail,
            Skipped: self._skip,
            Rescheduled: self._reschedule,
            Deferred: self._defer,
        }
        answers = await asyncio.gather(*(self._say_each(verbs[kind], items) for kind, items in kinds.items() if kind))
        heard = {id for answer in answers for id in answer}
        return stopped + [said.leg.key for said in batch if said.outcome is not None and said.leg.key.id not in heard]

    async def _say_each(
        self, verb: Callable[[Sequence[Said]], Awaitable[list[Changed]]], items: Sequence[Said]
    ) -> list[int]:
        """Say one verb about many legs. If the database takes offence at one of them, the others go without it."""
        try:
            return [row.id for row in await verb(items)]
        except DatabaseUnavailable:
            raise
        except Exception as error:
            if len(items) > 1:
                return [id for item in items for id in await self._say_each(verb, [item])]
            return await self._fail_instead(items[0], error)

    async def _fail_instead(self, said: Said, error: Exception) -> list[int]:
        log.error("The outcome of leg %s cannot be stored: %r", said.leg.key, error)
        outcome = Failed(f"The outcome {type(said.outcome).__name__} cannot be stored: {error}")
        said.leg.log.note(outcome.error)
        await self._logs.store([said.leg.log])
        try:
            return [row.id for row in await self._fail([Said(said.leg, outcome)])]
        except DatabaseUnavailable:
            raise
        except Exception:
            # The comparison with the database finds the leg, and gives it back.
            log.exception("That leg %s has failed cannot be stored either.", said.leg.key)
            return []

    async def _succeed(self, items: Sequence[Said]) -> list[Changed]:
        keys = [said.leg.key for said in items]
        return await legs.succeed(self._db, self.who, keys, list(_xcoms(items)))

    async def _fail(self, items: Sequence[Said]) -> list[Changed]:
        return await legs.fail(self._db, self.who, [_failed(said) for said in items])

    async def _skip(self, items: Sequence[Said]) -> list[Changed]:
        skipped = [
            SkippedLeg(said.leg.key.id, said.leg.key.leg, said.outcome.reason)
            for said in items
            if isinstance(said.outcome, Skipped)
        ]
        return await legs.skip(self._db, self.who, skipped)

    async def _reschedule(self, items: Sequence[Said]) -> list[Changed]:
        rescheduled = [
            RescheduledLeg(said.leg.key.id, said.leg.key.leg, said.outcome.until, said.outcome.after)
            for said in items
            if isinstance(said.outcome, Rescheduled)
        ]
        return await legs.reschedule(self._db, self.who, rescheduled)

    async def _defer(self, items: Sequence[Said]) -> list[Changed]:
        numbers = await deferral.reserve_trigger_ids(self._db, len(items))
        waits = [
            self._waits.stored(
                _asked(said), said.leg.key, said.leg.started.dag_version_id, said.leg.started.queue, number
            )
            for said, number in zip(items, numbers, strict=True)
        ]
        return await deferral.defer(self._db, self.who, waits)


def _length(said: Said) -> int:
    match said.outcome:
        case Succeeded(xcoms=xcoms):
            return sum(map(len, xcoms.values()))
        case Deferred(wait=wait):
            return len(wait.kwargs) + len(wait.next_kwargs)
        case _:
            return 0


def _asked(said: Said) -> Wait:
    assert isinstance(said.outcome, Deferred)
    return said.outcome.wait


def _xcoms(items: Iterable[Said]) -> Iterable[XCom]:
    for said in items:
        if isinstance(said.outcome, Succeeded):
            for key, value in said.outcome.xcoms.items():
                yield XCom(said.leg.key.id, said.leg.key.leg, key, value)


def _failed(said: Said) -> FailedLeg:
    assert isinstance(said.outcome, Failed)
    given = said.leg.started
    next = after_failure(
        said.leg.policy, given.try_number, given.max_tries, retryable=said.outcome.retryable, seed=given.id
    )
    rest = next.delay if isinstance(next, Retry) else None
    return FailedLeg(given.id, given.leg, "running", rest, said.outcome.error)
