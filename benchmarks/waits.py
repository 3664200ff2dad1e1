"""P3, P9 to P11, P13 to P15: what triggerers do with many waits, as people run them.

The floor of claiming and firing is the same verb said by nobody but one connection, in batches of 500, on waits that
nobody runs; the floor of memory is a bare asyncio task that sleeps, with an async generator in it.
"""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.bed import registered
from benchmarks.post import HELD_BY, Post, post, within
from benchmarks.report import Report, share
from benchmarks.system import cpu_sec, family, memory_mb, until
from bide.store import deferral, holding
from bide.store.deferral import Fired

TITLE = "Triggerers: claiming, firing, holding many waits, and what becomes of waits when one is gone"
MANY, HUNDRED_THOUSAND, THOUSAND = 10_000, 100_000, 1000
BATCH = 500
DUE_IN_SEC = 8.0
IDLE_SEC = 10.0
BLOCKED_SEC = 12.0
CAPACITY = 200_000
SETTLES_SEC = 8.0
GONE = "select not exists (select from trigger)"
BARE = """
import asyncio, resource
async def events():
    await asyncio.sleep(1000)
    yield 1
async def main():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tasks = [asyncio.create_task(anext(events())) for _ in range({number})]
    await asyncio.sleep(0.1)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / {number})
    for task in tasks: task.cancel()
async def anext(events):
    return await events.__anext__()
asyncio.run(main())
"""


async def measure(server_url: str, report: Report) -> None:
    """Measure one row after the other, each on a database of its own."""
    for row in report.each((claiming, firing, idling, killed, told_to_leave, blocked)):
        async with post(server_url) as place:
            await row(place, report)


def add(report: Report, what: str, figure: float, most: float | None, least: float | None, floor: float | None) -> None:
    """Keep one figure."""
    side = "≥" if least is not None else "≤"
    target = report.target(side, least if least is not None else most, figure)  # type: ignore[arg-type]
    report.add(what=what, figure=figure, target=target, floor=floor, ratio=figure / floor if floor else None)


async def claiming(place: Post, report: Report) -> None:
    """P9: two triggerers and so many free waits."""
    number = share(MANY, report.scale)
    report.progress(f"{number:,} free waits and two triggerers")
    pids = [(await place.triggerer(capacity=CAPACITY)).pid for _ in range(2)]
    await place.wait("Until", number, queue="later")
    await place.connection.execute("update trigger set queue = null")
    began = time.perf_counter()
    await place.hint()
    await place.all_held(number)
    took = time.perf_counter() - began
    loads = sorted([await place.held_by(pid) for pid in pids])
    add(report, f"P9: until {number:,} waits are held by two, s", took, 2.0, None, None)
    add(report, "P9: the smaller share of them, %", 100 * loads[0] / number, None, 45.0, None)


async def firing(place: Post, report: Report) -> None:
    """P3: so many waits come due together."""
    number = share(MANY, report.scale)
    triggerer, _ = await registered(place.db)
    await place.wait("Until", number)
    claims = []
    began = time.perf_counter()
    while batch := await holding.claim(place.db, "bench", triggerer, [""], BATCH):
        claims += batch
    claimed_per_sec = len(claims) / (time.perf_counter() - began)
    began = time.perf_counter()
    for at in range(0, number, BATCH):
        fired = [Fired(one.id, one.claim, '{"status":"done"}') for one in claims[at : at + BATCH]]
        await deferral.fire(place.db, "bench", fired)
    fired_per_sec = number / (time.perf_counter() - began)
    add(report, "claim alone, waits per second", claimed_per_sec, None, None, None)
    report.progress(f"{number:,} waits come due together")
    due_at = time.time() + DUE_IN_SEC
    await place.wait("Until", number, at=due_at)
    await place.triggerer(capacity=CAPACITY, max_trigger_to_select_per_loop=BATCH)
    await place.all_held(number)
    assert time.time() < due_at, "they were claimed too late to come due together"
    await asyncio.sleep(due_at - time.time())
    took = await until(place.connection, GONE, True)
    add(report, f"P3: events per second when {number:,} come together", number / took, None, 10_000, fired_per_sec)


async def idling(place: Post, report: Report) -> None:
    """P10, P11: so many waits that have nothing to do."""
    number = share(HUNDRED_THOUSAND, report.scale)
    process = await place.triggerer(capacity=CAPACITY, max_trigger_to_select_per_loop=BATCH)
    await asyncio.sleep(2)
    before = sum(memory_mb(pid) for pid in family(process.pid))
    report.progress(f"{number:,} waits are being made and claimed")
    await place.wait("Until", number, at=time.time() + 86_400)
    await place.hint()
    await place.all_held(number)
    await asyncio.sleep(5)
    everybody = list(family(process.pid))
    kb = 1024 * (sum(memory_mb(pid) for pid in everybody) - before) / number
    bare = await asyncio.to_thread(bare_kb, number)
    used = sum(cpu_sec(pid) for pid in everybody)
    await asyncio.sleep(IDLE_SEC)
    percent = 100 * (sum(cpu_sec(pid) for pid in everybody) - used) / IDLE_SEC
    runner = everybody[-1]
    open_files = len(os.listdir(f"/proc/{runner}/fd"))
    add(report, f"P10: KB for each of {number:,} waits, triggerer and runner", kb, 4.0, None, bare)
    add(report, "P10: descriptors of the runner", open_files, 50, None, None)
    add(report, f"P11: CPU of {number:,} idle waits, % of a core", percent, 2.0, None, None)


def bare_kb(number: int) -> float:
    """Measure what bare asyncio tasks take, in a process of its own."""
    return float(subprocess.check_output([sys.executable, "-c", BARE.format(number=number)], text=True))


async def killed(place: Post, report: Report) -> None:
    """P13: kill -9."""
    await taken_over(place, report, signal.SIGKILL, "P13: after kill -9 until all run elsewhere, s", 3.0)


async def told_to_leave(place: Post, report: Report) -> None:
    """P14: SIGTERM."""
    await taken_over(place, report, signal.SIGTERM, "P14: after SIGTERM until all run elsewhere, s", 1.0)


async def taken_over(place: Post, report: Report, number: signal.Signals, what: str, most: float) -> None:
    """Let one of two triggerers go that hold as many waits."""
    waits = share(THOUSAND, report.scale)
    await place.start("scheduler")
    first, second = [await place.triggerer(capacity=CAPACITY) for _ in range(2)]
    await place.wait("Until", 2 * waits)
    await place.all_held(2 * waits)
    await asyncio.sleep(SETTLES_SEC)
    held = await place.held_by(first.pid)
    report.progress(f"{number.name} to a triggerer with {held:,} waits")
    first.send_signal(number)
    began = time.perf_counter()
    await until(place.connection, HELD_BY, 2 * waits, second.pid)
    add(report, what, time.perf_counter() - began, most, None, None)


async def blocked(place: Post, report: Report) -> None:
    """P15: one holds the event loop, a hundred others tick."""
    with tempfile.TemporaryDirectory() as folder:
        ticks, blocks = Path(folder) / "ticks", Path(folder) / "blocks"
        await place.triggerer(capacity=CAPACITY)
        await place.wait("Ticks", 20, path=str(ticks))
        await place.hint()
        await within(ticks.exists, 30)
        report.progress(f"one trigger holds the event loop for {BLOCKED_SEC:g} s")
        await place.wait("Blocks", 1, path=str(blocks), seconds=BLOCKED_SEC)
        await place.hint()
        await within(blocks.exists, 30)
        await asyncio.sleep(BLOCKED_SEC / 2)
        moments = sorted(map(float, ticks.read_text().split("\n")[:-1]))
        pause = max(later - earlier for earlier, later in itertools.pairwise(moments))
    add(report, f"P15: longest pause of the others when one blocks for {BLOCKED_SEC:g} s", pause, 2.0, None, None)
