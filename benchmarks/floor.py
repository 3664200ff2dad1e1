"""The floor: the same row changes in bare SQL, in the same batches, each batch one prepared statement and one commit.

It changes the same columns of the same tables and writes the same history entries and XComs. It has no fence, no look
at the state, no lock order and no turn, takes no notice of doubles in a batch, knows the ids of the free waits
beforehand instead of looking for them, and gives back only what the verb's caller cannot do without.

It is taken twice: on the engine's own tables with all their indexes and checks, which shows what the statements cost;
and on bare copies of them that have nothing but a primary key, which shows what the schema costs.
"""

from typing import Any

import asyncpg

from benchmarks.bed import EVENT, KWARGS, WHO
from benchmarks.sides import RESULT, Batch, Saying, expect

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
        self.pool = pool
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
            expect(len(await self.pool.fetch(FLOOR["claim"], WHO, ids, self._triggerer)), len(batch))

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
            await self.pool.fetch(FLOOR[verb], WHO, ids, *arguments)

        return say


def waits(batch: Batch) -> list[int]:
    """The ids of the waits of a batch."""
    return [task.trigger_id for task in batch]


async def make_bare_tables(connection: asyncpg.Connection) -> None:
    """Copies of the tables that have nothing but a primary key: no other index, no check, no foreign key."""
    await connection.execute("create schema bare")
    for table, key, full in (
        ("dag_run", "id", 100),
        ("task_instance", "id", 80),
        ("trigger", "id", 80),
        ("history", "id", 100),
        ("xcom", "dag_id, run_id, task_id, map_index, key", 100),
    ):
        await connection.execute(
            f"create table bare.{table} (like public.{table} including defaults including identity,"
            f" primary key ({key})) with (fillfactor = {full})"
        )
