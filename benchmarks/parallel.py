"""What several connections do together, in batches of 500: each takes the next batch as soon as it is free."""

from benchmarks.arena import ENGINE, FLOOR, arena, together
from benchmarks.report import Report, share

TITLE = "Verbs on several connections, in batches of 500: rows per second, the best of three rounds"
LIFE = ("enqueue", "start", "defer", "claim", "fire")
ALONE = {"enqueue"}  # one at a time, because of the turn
CONNECTIONS = (1, 2, 4)
BATCH = 500
TASKS = 8000
ROUNDS = 3
FIRED_PER_SECOND = 15_000


async def measure(server_url: str, report: Report) -> None:
    """Lead tasks through a life in several rounds, and report the best: others on the machine only slow down."""
    found: dict[tuple[str, str, int], list[float]] = {}
    number = share(TASKS, report.scale, of=BATCH)
    async with arena(server_url, ENGINE, FLOOR, connections=max(CONNECTIONS)) as place:
        for nth in range(1 + share(ROUNDS, report.scale)):
            for connections in report.each(CONNECTIONS):
                report.progress(f"{connections} connections, round {nth} of {share(ROUNDS, report.scale)}")
                tasks = await place.tasks(number)
                for verb in LIFE:
                    for name, side in place.sides.items():
                        seconds = await together(side, verb, tasks[name], 1 if verb in ALONE else connections, BATCH)
                        if nth:  # the first one is for the plans and caches
                            found.setdefault((name, verb, connections), []).append(number / seconds)
    for verb in LIFE:
        for connections in (1,) if verb in ALONE else report.each(CONNECTIONS):
            engine, floor = (max(found[side, verb, connections]) for side in (ENGINE, FLOOR))
            wanted = FIRED_PER_SECOND if (verb, connections) == ("fire", 2) else None
            report.add(
                verb=verb,
                connections=connections,
                engine=engine,
                floor=floor,
                ratio=engine / floor,
                target=report.target("≥", wanted, engine),
            )
