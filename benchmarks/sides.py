"""The two sides of every comparison, with one method for each verb.

`Engine` says the verbs through the store, as the services will: structs in, fences and guards in SQL, structs out.

`Floor` makes the same row changes in bare SQL, in the same batches, each batch one prepared statement with arrays and
one commit. It changes the same columns of the same tables and writes the same history entries and XComs. It has no
fence, no look at the state, no lock order and no turn, takes no notice of doubles in a batch, knows the ids of the free
waits beforehand instead of looking for them, and gives back only what the verb's caller cannot do without.

The floor is taken twice: on the engine's own tables with all their indexes and checks, which shows what the statements
cost; and on bare copies of them that have nothing but a primary key, which shows what the schema costs.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import asyncpg

from benchmarks.bed import EVENT, KWARGS, WHO, Task, new_wait
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

        return say

    def claim(self, batch: Batch) -> Saying:
        async def say() -> None:
            answer = await holding.claim(self._db, WHO, self._triggerer, [""], len(batch))
            expect(len(answer), len(batch))
            for task, row in zip(batch, answer, strict=True):
                expect(row.id, task.trigger_id)
                task.claim = row.claim

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


NOTE = """
    insert into history (
        at, verb, task_instance_id, dag_run_id, trigger_id, from_state, to_state, leg, try_number, who)
    select now(), '{verb}', id, dag_run_id, trigger_id, '{leaves}', state, leg, try_number, $1 from changed"""
PUSH = """
    insert into xcom (dag_id, run_id, task_id, map_index, key, value, timestamp)
    select dag_id, run_id, task_id, map_index, 'return_value', $3, now() from changed"""

FLOOR = {
    "enqueue": f"""
        with changed as (
            update task_instance set state = 'queued', leg = leg + 1, queued_at = now()
            where id = any ($2::bigint[]) returning *
        ) {NOTE.format(verb="enqueue", leaves="scheduled")}""",
    "start": f"""
        with changed as (
            update task_instance set state = 'running', worker_id = $3, child_leg = leg,
                try_number = try_number + 1, start_date = now()
            where id = any ($2::bigint[]) returning *
        ), noted as ({NOTE.format(verb="start", leaves="queued")})
        select id, next_method, next_kwargs from changed""",
    "defer": f"""
        with made as (
            insert into trigger (id, classpath, kwargs, created_date, queue)
            select unnest($3::bigint[]), $4, unnest($5::text[]), now(), 'floor'
        ), changed as (
            update task_instance t set state = 'deferred', trigger_id = g.trigger_id, next_method = 'resume',
                next_kwargs = g.next_kwargs, worker_id = null, child_leg = null,
                trigger_timeout = now() + interval '1 hour'
            from unnest($2::bigint[], $3::bigint[], $6::json[]) as g (id, trigger_id, next_kwargs)
            where t.id = g.id returning t.*
        ) {NOTE.format(verb="defer", leaves="running")}""",
    "claim": """
        with changed as (
            update trigger set triggerer_id = $3, claim = claim + 1
            where id = any ($2::bigint[]) returning *
        ), noted as (
            insert into history (at, verb, trigger_id, job_id, claim, who)
            select now(), 'claim', id, triggerer_id, claim, $1 from changed
        ) select id, claim, classpath, kwargs, queue, priority, created_date from changed""",
    "fire": f"""
        with gone as (
            delete from trigger where id = any ($3::bigint[])
        ), changed as (
            update task_instance t set state = 'scheduled', next_kwargs = g.next_kwargs, trigger_timeout = null
            from unnest($2::bigint[], $4::json[]) as g (id, next_kwargs)
            where t.id = g.id returning t.*
        ) {NOTE.format(verb="fire", leaves="deferred")}""",
    "end": f"""
        with gone as (
            delete from trigger where id = any ($4::bigint[])
        ), changed as (
            update task_instance t set state = 'success', end_date = now(), trigger_timeout = null,
                next_method = null, next_kwargs = null
            where id = any ($2::bigint[]) returning *
        ), pushed as ({PUSH}) {NOTE.format(verb="end", leaves="deferred")}""",
    "succeed": f"""
        with changed as (
            update task_instance t set state = 'success', end_date = now(), next_method = null, next_kwargs = null,
                worker_id = null, child_leg = null
            where id = any ($2::bigint[]) returning *
        ), pushed as ({PUSH}) {NOTE.format(verb="succeed", leaves="running")}""",
}


class Floor:
    """The same row changes, bare. The pool gives connections back as they are, without a round trip of its own."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", triggerer: int, worker: int) -> None:
        self._pool = pool
        self._triggerer = triggerer
        self._worker = worker

    def enqueue(self, batch: Batch) -> Saying:
        return self._saying("enqueue", batch)

    def start(self, batch: Batch) -> Saying:
        return self._saying("start", batch, self._worker)

    def defer(self, batch: Batch) -> Saying:
        next_kwargs = ['{"path":"s3://bucket/key"}' for _ in batch]
        kwargs = [KWARGS for _ in batch]
        return self._saying("defer", batch, waits(batch), "bench.triggers.BenchTrigger", kwargs, next_kwargs)

    def claim(self, batch: Batch) -> Saying:
        ids = waits(batch)

        async def say() -> None:
            expect(len(await self._pool.fetch(FLOOR["claim"], WHO, ids, self._triggerer)), len(batch))

        return say

    def fire(self, batch: Batch) -> Saying:
        next_kwargs = [f'{{"path":"s3://bucket/key","event":{EVENT}}}' for _ in batch]
        return self._saying("fire", batch, waits(batch), next_kwargs)

    def end(self, batch: Batch) -> Saying:
        return self._saying("end", batch, RESULT, waits(batch))

    def succeed(self, batch: Batch) -> Saying:
        return self._saying("succeed", batch, RESULT)

    def _saying(self, verb: str, batch: Batch, *arguments: Any) -> Saying:
        ids = [task.id for task in batch]

        async def say() -> None:
            await self._pool.fetch(FLOOR[verb], WHO, ids, *arguments)

        return say


def waits(batch: Batch) -> list[int]:
    """The ids of the waits of a batch."""
    return [task.trigger_id for task in batch]


async def make_bare_tables(connection: asyncpg.Connection) -> None:
    """Copies of the four tables that have nothing but a primary key: no other index, no check, no foreign key."""
    await connection.execute("create schema bare")
    for table, key, full in (
        ("task_instance", "id", 80),
        ("trigger", "id", 80),
        ("history", "id", 100),
        ("xcom", "dag_id, run_id, task_id, map_index, key", 100),
    ):
        await connection.execute(
            f"create table bare.{table} (like public.{table} including defaults including identity,"
            f" primary key ({key})) with (fillfactor = {full})"
        )
