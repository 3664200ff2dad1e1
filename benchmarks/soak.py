"""`python -m benchmarks soak`: a million times defer and resume, and a day of idling: does anything grow?

A triggerer and a scheduler run as processes, the worker is played. What they hold in memory and open, and what the
tables hold, is written down each time another share of the waits is over. The day passes by moving the clock of the
database, a minute at a time; in each minute a timer falls due beside a thousand waits that have nothing to do. History
is left out: it grows by design.
"""

from datetime import timedelta
from time import perf_counter

from benchmarks.bed import WHO
from benchmarks.report import Report, share
from benchmarks.resting import total_descriptors, total_mb
from benchmarks.system import until
from benchmarks.waiters import Gate
from benchmarks.waiting_room import Room, waiting_room
from bide.authoring.values import VALUES
from bide.sealing import wait
from bide.store import deferral, legs, views
from bide.store.deferral import NewWait
from bide.store.wake import Channel

TITLE = "Soak: a million waits, and a day of idling"
CYCLES, TASKS = 1_000_000, 4000
LOOKS = 10
SETTLED = 3  # looks; what was the most until then may not be exceeded by much
MOST_GROWTH = 1.2
RESTING = 1000
MINUTES = 24 * 60
BATCH = 1000
CLASSPATH = f"{Gate.__module__}.{Gate.__qualname__}"
KWARGS = VALUES.encode({"at": 0.0})
ROWS = """
    select (select count(*) from trigger) as waits, (select count(*) from look) as looks,
           (select count(*) from task_instance where state = 'deferred') as deferred,
           (select sum(n_dead_tup)::bigint from pg_stat_user_tables
            where relname in ('trigger', 'task_instance')) as dead,
           (select sum(pg_total_relation_size(oid)) / 1e6 from pg_class
            where relname in ('trigger', 'task_instance', 'look', 'kill', 'job'))::float as mb"""
QUEUED = "select exists (select from task_instance where state = 'queued')"
ALL_QUEUED = "select not exists (select from task_instance where state <> 'queued')"
PASSES = "update clock set shift = shift + interval '1 minute'"
FIRED = "select count(*) from history where verb = 'fire_due'"


async def measure(server_url: str, report: Report) -> None:
    """Let waits begin and end, then let a day pass."""
    number = share(TASKS, report.scale, of=BATCH)
    async with waiting_room(server_url) as room, room.triggerers(1, "--capacity", str(2 * number)) as [triggerer]:
        await room.connection.execute("update pool set slots = 1000000")
        await room.wait(CLASSPATH, number, lambda n: {"at": 0.0})
        memory: list[float] = []
        for look in report.each(range(1, LOOKS + 1)):
            began = perf_counter()
            cycles = share(CYCLES // LOOKS, report.scale)
            await live(room, cycles)
            memory.append(total_mb(triggerer.pid))
            add(report, f"{cycles * look:,} waits", room.scheduler_pid, triggerer.pid, memory, await rows(room))
            report.progress(f"{cycles * look:,} waits, {cycles / (perf_counter() - began):,.0f} a second")
        await until(room.connection, ALL_QUEUED, True)
        await a_day(room, triggerer.pid, memory, report)


def add(report: Report, what: str, scheduler: int, triggerer: int, memory: list[float], rows: dict[str, float]) -> None:
    """Write down what is held now."""
    grown = memory[-1] / max(memory[:SETTLED])
    report.add(
        after=what,
        triggerer_mb=memory[-1],
        scheduler_mb=total_mb(scheduler),
        descriptors=total_descriptors(triggerer) + total_descriptors(scheduler),
        **rows,
        grown=grown,
        target=report.target("≤", MOST_GROWTH, grown),
    )


async def rows(room: Room) -> dict[str, float]:
    """Count what the tables hold."""
    found = await room.connection.fetchrow(ROWS)
    assert found is not None
    return dict(found)


async def live(room: Room, cycles: int) -> None:
    """Be the worker of so many legs, each of which waits again."""
    done = 0
    while done < cycles:
        await until(room.connection, QUEUED, True)
        offered = await views.offered(room.db, ["default"], BATCH)
        started = await legs.start(room.db, WHO, room.worker, offered)
        ids = await deferral.reserve_trigger_ids(room.db, len(started))
        waits = [
            NewWait(
                id=one.id,
                leg=one.leg,
                trigger_id=id,
                classpath=CLASSPATH,
                kwargs=room.sealer.seal(KWARGS, wait(id, CLASSPATH)),
                next_method="resume",
            )
            for one, id in zip(started, ids, strict=True)
        ]
        done += len(await deferral.defer(room.db, WHO, waits))
        room.hints.hint(Channel.TRIGGERER)


async def a_day(room: Room, triggerer: int, memory: list[float], report: Report) -> None:
    """Let a day pass, with a timer each minute."""
    resting, minutes = share(RESTING, report.scale, of=100), share(MINUTES, report.scale)
    path = room.notes.path
    await room.wait("benchmarks.waiters.Rests", resting, lambda n: {"notes": path, "number": n})
    await room.notes.until(resting)
    report.progress("a day passes")
    await room.timers(minutes, timedelta(minutes=1))
    for minute in range(1, minutes + 1):
        await room.connection.execute(PASSES)
        room.hints.hint(Channel.SCHEDULER)
        await until(room.connection, FIRED, minute)
    memory.append(total_mb(triggerer))
    add(report, "a day of idling", room.scheduler_pid, triggerer, memory, await rows(room))
