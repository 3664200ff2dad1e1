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
SETTLED = 3  # looks; what was the most until then may not be exceeded by much
AT_MOST = 1.5

SIZES = """
    select s.relname as name, s.n_dead_tup as dead, s.autovacuum_count as vacuums,
           pg_table_size(s.relid) / 1e6::float as table_mb, pg_indexes_size(s.relid) / 1e6::float as index_mb
    from pg_stat_user_tables s where s.relname in ('trigger', 'task_instance')"""


async def measure(server_url: str, report: Report) -> None:
    """Lead the same tasks through many waits, and look at the tables from time to time."""
    number = share(TASKS, report.scale, of=BATCH * CONNECTIONS)
    rounds = share(CYCLES // LOOKS, report.scale, of=number) // number
    async with arena(server_url, ENGINE, connections=CONNECTIONS) as place:
        tasks = (await place.tasks(number))[ENGINE]
        total_mb: list[float] = []
        looks = report.each(range(1, LOOKS + 1))
        for look in looks:
            began = perf_counter()
            for _ in range(rounds):
                for verb in CYCLE:
                    # One at a time where there is a turn to prove.
                    await together(place.sides[ENGINE], verb, tasks, 1 if verb == "enqueue" else CONNECTIONS, BATCH)
            per_second = number * rounds / (perf_counter() - began)
            found = await sizes(place)
            total_mb.append(sum(value for name, value in found.items() if name.endswith("mb")))
            grown = max(total_mb) / max(total_mb[:SETTLED]) if look == looks[-1] else None
            report.progress(f"{number * rounds * look:,} waits")
            report.add(
                waits=number * rounds * look,
                per_second=per_second,
                **found,
                grown=grown,
                target="" if grown is None else report.target("≤", AT_MOST, grown),
            )


async def sizes(place: Arena) -> dict[str, Any]:
    """Read the sizes of both tables, and how often both have been swept."""
    rows = {row["name"]: row for row in await place.connection.fetch(SIZES)}
    found = {
        f"{short}_{figure}": rows[table][figure]
        for short, table in (("wait", "trigger"), ("task", "task_instance"))
        for figure in ("table_mb", "index_mb", "dead")
    }
    return found | {"vacuums": min(row["vacuums"] for row in rows.values())}
