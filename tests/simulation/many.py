"""Many seeds, on all cores, on one PostgreSQL; and what was seen in all of them."""

import asyncio
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from queue import Queue
from typing import Any

import asyncpg

from bide.model.transitions import HOLDER_VERBS, RUN_VERBS, TASK_VERBS
from bide.sql import read
from tests.conftest import database_url
from tests.simulation.simulate import Report, simulate
from tests.simulation.world import arena

PROGRESS_EVERY_SEC = 5.0
ENOUGH_STEPS = 30_000
# Said about something new, or only as a part of another verb: there is nothing stale to refuse.
NEVER_REFUSED = {"register", "reopen"}
NEVER_SAID_ALONE = {"reopen"}


def run(url: str, seeds: Sequence[int], steps: int, processes: int) -> int:
    """Share the seeds out, and report as they come back."""
    context = multiprocessing.get_context("spawn")
    done: Any = context.Queue()
    children = []
    for number in range(processes):
        mine = asyncio.run(new_database(url, f"simulation_{number}"))
        child = context.Process(target=work, args=(mine, list(seeds[number::processes]), steps, done), daemon=True)
        child.start()
        children.append(child)
    began = time.monotonic()
    reports = list(collected(done, len(seeds), began))
    for child in children:
        child.join()
    return summary(reports, time.monotonic() - began)


async def new_database(url: str, name: str) -> str:
    """Make a database with the schema."""
    admin = await asyncpg.connect(url)
    try:
        await admin.execute(f"create database {name}")
    finally:
        await admin.close()
    connection = await asyncpg.connect(database_url(url, name))
    try:
        await connection.execute(read("schema.sql"))
    finally:
        await connection.close()
    return database_url(url, name)


def work(url: str, seeds: Sequence[int], steps: int, done: "Queue[Report | str]") -> None:
    """What one process does."""

    async def all_of_them() -> None:
        async with arena(url) as place:
            for seed in seeds:
                done.put(await simulate(place, seed, steps))

    try:
        asyncio.run(all_of_them())
    except Exception as error:
        done.put(f"{type(error).__name__}: {error}")
        raise


def collected(done: "Queue[Report | str]", number: int, began: float) -> Iterable[Report]:
    """Take the reports as they come, and say now and then how far it is."""
    told = began
    for count in range(1, number + 1):
        report = done.get()
        if isinstance(report, str):
            raise SystemExit(f"The simulator itself failed: {report}")
        if report.violation:
            print(f"VIOLATION {report.violation}\n", flush=True)
        if time.monotonic() - told > PROGRESS_EVERY_SEC:
            told = time.monotonic()
            print(f"{count} of {number} seeds, {told - began:.0f} s", flush=True)
        yield report


def summary(reports: Sequence[Report], seconds: float) -> int:
    """Say what was seen; fail on a violation, or when a verb was not tried enough."""
    reports = sorted(reports, key=lambda report: report.seed)
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
    violated = [report.seed for report in reports if report.violation]
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
