"""Many seeds, on all cores, on one PostgreSQL; and what was seen in all of them."""

import asyncio
import multiprocessing
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import asynccontextmanager

import asyncpg

from bide.model.transitions import HOLDER_VERBS, RUN_VERBS, TASK_VERBS
from bide.sql import schema
from tests.conftest import database_url
from tests.simulation.simulate import Report, simulate
from tests.simulation.world import arena

PROGRESS_EVERY_SEC = 10.0
SEEDS_AT_ONCE = 10
ENOUGH_STEPS = 30_000
# Said about something new, or only as a part of another verb: there is nothing stale to refuse.
NEVER_REFUSED = {"register", "reopen"}
NEVER_SAID_ALONE = {"reopen"}


def run(url: str, seeds: Sequence[int], steps: int, processes: int) -> int:
    """Share the seeds out, tell what is found as it is found, and sum it up."""
    began = time.monotonic()
    reports = list(simulated(url, seeds, steps, processes))
    return summary(reports, time.monotonic() - began)


def simulated(url: str, seeds: Sequence[int], steps: int, processes: int) -> Iterator[Report]:
    """Run the seeds, and say now and then how far it is."""
    began = told = time.monotonic()
    count = 0
    batches = [seeds[start : start + SEEDS_AT_ONCE] for start in range(0, len(seeds), SEEDS_AT_ONCE)]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(work, url, batch, steps) for batch in batches]):
            for report in done.result():
                count += 1
                if report.violation:
                    print(f"VIOLATION {report.violation}\n", flush=True)
                yield report
            if time.monotonic() - told > PROGRESS_EVERY_SEC:
                told = time.monotonic()
                print(f"{count} of {len(seeds)} seeds, {told - began:.0f} s", flush=True)


def work(url: str, seeds: Sequence[int], steps: int) -> list[Report]:
    """What one process does at a time."""

    async def all_of_them() -> list[Report]:
        async with database(url) as mine, arena(mine) as place:
            return [await simulate(place, seed, steps) for seed in seeds]

    return asyncio.run(all_of_them())


@asynccontextmanager
async def database(url: str) -> AsyncIterator[str]:
    """Make a database with the schema, for as long as the block runs."""
    name = f"simulation_{secrets.token_hex(6)}"
    admin = await asyncpg.connect(url)
    try:
        await admin.execute(f"create database {name}")
        connection = await asyncpg.connect(database_url(url, name))
        await connection.execute(schema())
        await connection.close()
        yield database_url(url, name)
        await admin.execute(f"drop database {name} with (force)")
    finally:
        await admin.close()


def summary(reports: Sequence[Report], seconds: float) -> int:
    """Say what was seen; fail on a violation, or when a verb was not tried enough."""
    said: Counter[str] = sum((report.said for report in reports), Counter())
    accepted: Counter[str] = sum((report.accepted for report in reports), Counter())
    refused: Counter[str] = sum((report.refused for report in reports), Counter())
    faults: Counter[str] = sum((report.faults for report in reports), Counter())
    steps = sum(report.steps for report in reports)
    print(f"{'verb':<16}{'said':>9}{'rows changed':>14}{'refused':>9}")
    for verb in sorted(said):
        print(f"{verb:<16}{said[verb]:>9}{accepted[verb]:>14}{refused[verb]:>9}")
    print("faults: " + ", ".join(f"{number} {name}" for name, number in sorted(faults.items())))
    rounds = [report.rounds for report in reports] or [0]
    print(
        f"{len(reports)} seeds, {steps} steps, {sum(said.values())} words in {seconds:.1f} s: "
        f"{steps / seconds:.0f} steps/s, {sum(said.values()) / seconds:.0f} words/s; "
        f"settled in {sum(rounds) / len(rounds):.1f} rounds on average, {max(rounds)} at most"
    )
    for report in reports if len(reports) == 1 else ():
        print(f"digest of seed {report.seed}: {report.digest}")
    missing = list(not_covered(accepted, refused)) if steps >= ENOUGH_STEPS else []
    for line in missing:
        print(f"NOT COVERED {line}")
    violated = sorted(report.seed for report in reports if report.violation)
    print(f"violations: {len(violated)}{': seeds ' + str(violated) if violated else ''}")
    return 1 if violated or missing else 0


def not_covered(accepted: Counter[str], refused: Counter[str]) -> Iterable[str]:
    """Find verbs that were never accepted, or never refused as stale."""
    verbs = [verb.name for table in (TASK_VERBS, RUN_VERBS, HOLDER_VERBS) for verb in table]
    for verb in verbs:
        if verb not in NEVER_SAID_ALONE and not accepted[verb]:
            yield f"{verb} was never accepted"
        if verb not in NEVER_REFUSED and not refused[verb]:
            yield f"{verb} was never refused"
