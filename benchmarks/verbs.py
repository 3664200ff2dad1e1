"""What each verb costs beside its floors, in batches of 1, 50 and 500 on one connection."""

from benchmarks.arena import BARE, ENGINE, FLOOR, LIVES, Arena, Speeds, arena, live
from benchmarks.report import Report, share
from benchmarks.sides import VERBS

TITLE = "Verbs on one connection: rows per second, in the middle one of all batches"
TASKS = {1: 100, 50: 1500, 500: 5000}
WARM_UP = 20  # statements; PostgreSQL settles on a plan after five
ROUNDS = 3
LEAST = {500: 0.6}


async def measure(server_url: str, report: Report) -> None:
    """Measure every verb in every batch size, several rounds."""
    for batch, full in report.each(TASKS.items()):
        number = share(full, report.scale, of=batch)
        async with arena(server_url, ENGINE, FLOOR, BARE) as place:
            await warm_up(place, batch, share(WARM_UP * batch, report.scale, of=batch))
            speeds = Speeds(batch)
            for nth in range(share(ROUNDS, report.scale)):
                report.progress(f"batches of {batch}, round {nth + 1}")
                await speeds.add_round(place.sides, [await place.tasks(number) for _ in LIVES])
        for verb in VERBS:
            engine, floor, bare = (speeds.of(side, verb) for side in (ENGINE, FLOOR, BARE))
            report.add(
                verb=verb,
                batch=batch,
                engine=engine,
                floor=floor,
                bare_tables=bare,
                ratio=engine / floor,
                target=report.target("≥", LEAST.get(batch), engine / floor),
            )


async def warm_up(place: Arena, batch: int, number: int) -> None:
    """Lead some tasks through every verb, for plans and caches."""
    for life in LIVES:
        await live(place.sides, life, await place.tasks(number), batch)
