"""Whether tables and indexes stay as they are while waits begin and end a million times. Autovacuum does its work."""

from time import perf_counter
from typing import Any

from benchmarks.arena import ENGINE, Arena, arena, together
from benchmarks.report import Report, share

TITLE = "A million waits, ten thousand at a time: what they leave behind in tables and indexes"
CYCLE = ("enqueue", "start", "defer", "claim", "fire")
CYCLES = 1_000_000
TASKS = 10_000
BATCH = 500
CONNECTIONS = 2
LOOKS = 10
SETTLED = 3  # looks, after which nothing may grow any more
AT_MOST = 1.5

SIZES = """
    select c.relname as name, s.n_dead_tup as dead, s.autovacuum_count as vacuums,
           pg_table_size(c.oid) / 1e6::float as table_mb, pg_indexes_size(c.oid) / 1e6::float as indexes_mb
    from pg_class c join pg_stat_user_tables s on s.relid = c.oid
    where c.relname in ('trigger', 'task_instance', 'history')"""


async def measure(server_url: str, report: Report, scale: float) -> None:
    """Lead the same tasks through many waits, and look at the tables from time to time."""
    number = share(TASKS, max(scale, 0.2), of=BATCH)
    rounds = share(CYCLES // number // LOOKS, scale)
    async with arena(server_url, ENGINE, connections=CONNECTIONS) as place:
        tasks = (await place.tasks(number))[ENGINE]
        mb: list[float] = []
        for look in range(1, LOOKS + 1):
            began = perf_counter()
            for _ in range(rounds):
                for verb in CYCLE:
                    # One at a time where there is a turn to prove.
                    await together(place.sides[ENGINE], verb, tasks, 1 if verb == "enqueue" else CONNECTIONS, BATCH)
            per_second = number * rounds / (perf_counter() - began)
            found = await sizes(place)
            mb.append(sum(value for name, value in found.items() if name.endswith("mb")))
            grown = max(mb[SETTLED - 1 :]) / mb[SETTLED - 1] if look == LOOKS else None
            cycles = number * rounds * look
            report.progress(f"{cycles:,} waits")
            target = "" if grown is None else report.target("≤", AT_MOST, grown)
            report.add(waits=cycles, per_second=per_second, **found, total_mb=mb[-1], grown=grown, target=target)


async def sizes(place: Arena) -> dict[str, Any]:
    """Read the sizes of both tables."""
    rows = {row["name"]: row for row in await place.connection.fetch(SIZES)}
    return {
        f"{short}_{figure}": rows[table][figure]
        for short, table in (("wait", "trigger"), ("task", "task_instance"))
        for figure in ("table_mb", "indexes_mb", "dead", "vacuums")
    }
