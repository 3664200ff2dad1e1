"""P3, P9, P13, P14: waits that come due together, that nobody holds yet, and whose triggerer is killed or told to stop.

Triggerers and a scheduler run as processes. The floors are the same row changes in bare SQL: events in batches of 500,
claims as many at once as a triggerer asks for, on as many connections as there are triggerers.
"""

import asyncio
import signal
import time
from collections.abc import Sequence
from statistics import median
from time import perf_counter

from benchmarks.arena import FLOOR, arena, chunks, live, together
from benchmarks.report import Report, share
from benchmarks.system import until
from benchmarks.waiting_room import Room, waiting_room

TITLE = "P3, P9, P13, P14: waits and their triggerers"
DUE = (1000, 10_000)
EVENTS_PER_SECOND = 10_000
AGAINST_FLOOR = 0.5
WAITS_BEGIN_PER_SECOND = 500
"""At the least: they come due when all are sure to be there."""
UNOWNED = 10_000
CLAIMED_WITHIN_SEC, MOST_UNEVEN = 2.0, 0.1
LEFT = 1000
KILLED_WITHIN_SEC, STOPPED_WITHIN_SEC = 3.0, 1.0
BATCH, CLAIM = 500, 50
WATCHED_SEC = 11.0
LAST = "select extract(epoch from max(created_date))::float from trigger"
NONE_LEFT = "select not exists (select from trigger)"
ALL_HELD = "select not exists (select from trigger where triggerer_id is null)"


async def measure(server_url: str, report: Report) -> None:
    """Measure events, claims, and the ends of triggerers."""
    report.progress("floors")
    fire, claim = await floors(server_url, share(4000, report.scale, of=BATCH))
    for full in DUE:
        number = share(full, report.scale, of=BATCH)
        report.progress(f"{number} waits come due together")
        rate = await come_due(server_url, number)
        met = report.target("≥", EVENTS_PER_SECOND, rate) if full == DUE[-1] else ""
        add(report, f"P3: events per second, {number:,} at once", rate, fire, rate / fire, met)
        met = report.target("≥", AGAINST_FLOOR, rate / fire)
        add(report, "  against its floor", rate / fire, None, None, met)
    number = share(UNOWNED, report.scale, of=BATCH)
    report.progress(f"{number} waits that nobody holds")
    seconds, loads = await claimed(server_url, number)
    floor = number / claim
    met = report.target("≤", CLAIMED_WITHIN_SEC, seconds)
    add(report, f"P9: {number:,} claimed and running on two triggerers, s", seconds, floor, floor / seconds, met)
    uneven = abs(loads[-1] - loads[0]) / number
    add(report, "P9: how uneven", uneven, None, None, report.target("≤", MOST_UNEVEN, uneven))
    for words, number_of, most in (
        ("P13: kill -9 of a triggerer", signal.SIGKILL, KILLED_WITHIN_SEC),
        ("P14: SIGTERM of a triggerer", signal.SIGTERM, STOPPED_WITHIN_SEC),
    ):
        left = share(LEFT, report.scale, of=100)
        report.progress(f"{words} with {left} waits")
        seconds = await taken_over(server_url, left, number_of)
        words = f"{words} with about {left:,} waits: until all run elsewhere, s"
        add(report, words, seconds, None, None, report.target("≤", most, seconds))


def add(report: Report, what: str, figure: float, floor: float | None, ratio: float | None, target: str) -> None:
    """Keep a figure."""
    report.add(what=what, figure=figure, floor=floor, ratio=ratio, target=target)


async def floors(server_url: str, number: int) -> tuple[float, float]:
    """Tell how many events and how many claims bare SQL does a second."""
    async with arena(server_url, FLOOR, connections=2) as place:
        for _ in range(2):
            tasks = await place.tasks(number)
            await live(place.sides, ("enqueue", "start", "defer"), tasks, BATCH)
            seconds = await together(place.sides[FLOOR], "claim", tasks[FLOOR], 2, CLAIM)
            events = []
            for some in chunks(tasks[FLOOR], BATCH):
                say = place.sides[FLOOR].fire(some)
                began = perf_counter()
                await say()
                events.append(perf_counter() - began)
    return BATCH / median(events), number / seconds


async def come_due(server_url: str, number: int) -> float:
    """Let waits come due together; tell how many of them ended a second, until none was left."""
    async with waiting_room(server_url) as room, room.triggerers(1, "--capacity", str(2 * number)):
        at = time.time() + 8 + number / WAITS_BEGIN_PER_SECOND
        await room.wait("benchmarks.waiters.Gate", number, lambda n: {"at": at})
        await until(room.connection, ALL_HELD, True)
        assert time.time() < at - 1, "they were not all there when they came due"
        await asyncio.sleep(at - time.time())
        await until(room.connection, NONE_LEFT, True)
        return number / (time.time() - at)


async def claimed(server_url: str, number: int) -> tuple[float, Sequence[int]]:
    """Let two triggerers take up waits; tell how long that took, and how many each has."""
    async with waiting_room(server_url) as room, room.triggerers(2, "--capacity", str(number)):
        # What they import is there before.
        await rest(room, 10)
        before = room.notes.count()
        await rest(room, number)
        await room.notes.until(before + number)
        # From the commit on: what makes the waits is no part of it.
        began: float = await room.connection.fetchval(LAST)
        return max(moment for _, moment in room.notes.lines()) - began, await room.loads()


async def rest(room: Room, number: int) -> None:
    """Let tasks wait that have nothing to do."""
    path = room.notes.path
    await room.wait("benchmarks.waiters.Rests", number, lambda n: {"notes": path, "number": n})


async def taken_over(server_url: str, number: int, how: signal.Signals) -> float:
    """End one of two triggerers; tell how long it takes until everything that it held runs with the other."""
    async with waiting_room(server_url) as room, room.triggerers(2, "--capacity", str(4 * number)) as processes:
        await rest(room, 2 * number)
        await room.notes.until(2 * number)
        ended = "select id from job where job_type = 'TriggererJob' and pid = $1"
        triggerer = await room.connection.fetchval(ended, processes[0].pid)
        # A scheduler gives nobody up before it has watched for a whole lease (docs/decisions/0019).
        await asyncio.sleep(WATCHED_SEC)
        # Counted now: meanwhile some may have been handed over.
        held = await room.connection.fetchval("select count(*) from trigger where triggerer_id = $1", triggerer)
        before, began = room.notes.count(), time.time()
        processes[0].send_signal(how)
        await room.notes.until(before + held)
        last: float = sorted(moment for _, moment in room.notes.lines()[before:])[held - 1]
        return last - began
