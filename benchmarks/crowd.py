"""The same verbs with a thousand and with a million other waits in the tables."""

from collections.abc import Mapping
from contextlib import AsyncExitStack

from benchmarks.arena import ENGINE, FLOOR, LIVES, Arena, Speeds, arena, live
from benchmarks.bed import KWARGS, Task, registered
from benchmarks.report import Report, share
from benchmarks.sides import VERBS, Side

TITLE = "Verbs with a thousand and with a million other waits: rows per second on one connection"
CROWDS = {"few": 1000, "many": 1_000_000}
IN_A_RUN = 1000
TASKS = {50: 1000, 500: 4000}
ROUNDS = 2
AT_MOST = 1.5

CROWD_RUN = """
    insert into dag_run (dag_id, run_id, state, queued_at, start_date)
    values ('bench', 'crowd ' || $1::integer, 'running', now(), now()) returning id"""
# A third is held by another triggerer, a third are timers, a third is free but less urgent than what is measured.
CROWD = """
    with waits as (
        insert into trigger (classpath, kwargs, created_date, triggerer_id, claim, due_at, event)
        select 'bench.triggers.BenchTrigger', $2, now(), case n % 3 when 0 then $3::bigint end, (n % 3 = 0)::integer,
               case n % 3 when 1 then now() + interval '1 day' + n * interval '1 second' end,
               case n % 3 when 1 then '{"status":"done"}'::json end
        from generate_series(1, $4::integer) as n returning id
    )
    insert into task_instance (
        dag_run_id, dag_id, run_id, task_id, state, leg, try_number, trigger_id, next_method, next_kwargs,
        trigger_timeout, start_date, priority_weight)
    select r.id, r.dag_id, r.run_id, 'task_' || w.id, 'deferred', 1, 1, w.id, 'resume', '{"path":"s3://bucket/key"}',
           now() + interval '90 days', now(), 0
    from waits w join dag_run r on r.id = $1"""


async def measure(server_url: str, report: Report) -> None:
    """Compare two databases batch beside batch, with the floor on both."""
    async with AsyncExitStack() as stack:
        places = {name: await stack.enter_async_context(arena(server_url, ENGINE, FLOOR)) for name in CROWDS}
        for name, place in places.items():
            crowd = share(CROWDS[name], report.scale, of=IN_A_RUN)
            report.progress(f"{crowd:,} waits are being made")
            await gather(place, crowd)
        sides = {f"{name} {side}": place.sides[side] for name, place in places.items() for side in place.sides}
        for batch, full in report.each(TASKS.items()):
            await compare(
                places, sides, batch, share(full, report.scale, of=batch), share(ROUNDS, report.scale), report
            )


async def gather(place: Arena, crowd: int) -> None:
    """Make so many waits."""
    triggerer, _ = await registered(place.db)
    for nth in range(crowd // IN_A_RUN):
        run = await place.connection.fetchval(CROWD_RUN, nth)
        await place.connection.execute(CROWD, run, KWARGS, triggerer, IN_A_RUN)
    await place.connection.execute("vacuum analyze")


async def compare(
    places: Mapping[str, Arena], sides: Mapping[str, Side], batch: int, number: int, rounds: int, report: Report
) -> None:
    """Lead tasks through all verbs in both databases."""
    for life in LIVES:
        await live(sides, life, await tasks_everywhere(places, number), batch)
    speeds = Speeds(batch)
    for nth in range(rounds):
        report.progress(f"batches of {batch}, round {nth + 1}")
        await speeds.add_round(sides, [await tasks_everywhere(places, number) for _ in LIVES])
    for verb in VERBS:
        speed = {side: speeds.of(side, verb) for side in sides}
        slower = speed[f"few {ENGINE}"] / speed[f"many {ENGINE}"]
        report.add(
            verb=verb,
            batch=batch,
            engine_few=speed[f"few {ENGINE}"],
            engine_many=speed[f"many {ENGINE}"],
            slower=slower,
            target=report.target("≤", AT_MOST, slower),
            floor_few=speed[f"few {FLOOR}"],
            floor_many=speed[f"many {FLOOR}"],
            floor_slower=speed[f"few {FLOOR}"] / speed[f"many {FLOOR}"],
        )


async def tasks_everywhere(places: Mapping[str, Arena], number: int) -> dict[str, list[Task]]:
    """Launch as many tasks for every side of every database."""
    launched = {name: await place.tasks(number) for name, place in places.items()}
    return {f"{name} {side}": tasks for name, of_sides in launched.items() for side, tasks in of_sides.items()}
