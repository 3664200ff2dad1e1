"""P10, P11, P15: what a hundred thousand waits cost that have nothing to do, and what one that blocks does to others.

The floor of the memory is a bare asyncio task that drives a bare generator, which waits for nothing.
"""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from benchmarks.report import Report, share
from benchmarks.system import cpu_sec, family, memory_mb
from benchmarks.waiting_room import Room, waiting_room

TITLE = "P10, P11, P15: waits that do nothing, and one that does harm"
RESTING = 100_000
MOST_KB, MOST_CPU_PERCENT, MOST_DESCRIPTORS = 4.0, 2.0, 0.01
SETTLE_SEC, IDLE_SEC = 10.0, 20.0
TICKING = 200
BLOCKS_SEC = 30.0
LONGEST_PAUSE_SEC = 2.0
NAMED = "has held its event loop"
BARE = """
import asyncio, sys
async def waits():
    await asyncio.Event().wait()
    yield
async def first(events):
    async for event in events:
        return event
def memory_kb():
    return int(next(line for line in open("/proc/self/smaps_rollup") if line.startswith("Pss:")).split()[1])
async def main(number):
    before = memory_kb()
    tasks = [asyncio.create_task(first(waits())) for _ in range(number)]
    await asyncio.sleep(0.1)
    print((memory_kb() - before) / number)
    for task in tasks:
        task.cancel()
asyncio.run(main(int(sys.argv[1])))
"""


async def measure(server_url: str, report: Report) -> None:
    """Measure what waits cost, and what becomes of the neighbours of one that blocks."""
    number = share(RESTING, report.scale, of=1000)
    report.progress(f"{number} waits that have nothing to do")
    bare_kb = await asyncio.to_thread(bare, number)
    async with waiting_room(server_url) as room, room.triggerers(1, "--capacity", str(number)) as [process]:
        memory, descriptors = total_mb(process.pid), total_descriptors(process.pid)
        began = time.time()
        await room.wait("benchmarks.waiters.Rests", number, lambda n: {"notes": room.notes.path, "number": n})
        await room.notes.until(number, 600)
        report.progress(f"all of them run after {time.time() - began:.0f} s")
        await asyncio.sleep(SETTLE_SEC * report.scale)
        memory = 1024 * (total_mb(process.pid) - memory) / number
        descriptors = total_descriptors(process.pid) - descriptors
        idle_sec = max(2, IDLE_SEC * report.scale)
        before = total_cpu(process.pid)
        await asyncio.sleep(idle_sec)
        busy = 100 * (total_cpu(process.pid) - before) / idle_sec
    words = f"P10: memory of each of {number:,} waits, KB"
    report.add(what=words, figure=memory, floor=bare_kb, target=report.target("≤", MOST_KB, memory))
    each = descriptors / number
    words = "P10: file descriptors of each"
    report.add(what=words, figure=each, floor=None, target=report.target("≤", MOST_DESCRIPTORS, each))
    words = "P11: processor time of all of them, % of a core"
    report.add(what=words, figure=busy, floor=None, target=report.target("≤", MOST_CPU_PERCENT, busy))
    await harm(server_url, report)


def bare(number: int) -> float:
    """Tell the kilobytes of a wait that is nothing but a task and a generator."""
    return float(subprocess.check_output([sys.executable, "-c", BARE, str(number)]))


def total_mb(pid: int) -> float:
    """Add up the memory of a process and its children."""
    return sum(memory_mb(one) for one in family(pid))


def total_cpu(pid: int) -> float:
    """Add up the processor time of a process and its children."""
    return sum(cpu_sec(one) for one in family(pid))


def total_descriptors(pid: int) -> int:
    """Count the open descriptors of a process and its children."""
    found = 0
    for one in family(pid):
        with suppress(OSError):
            found += len(os.listdir(f"/proc/{one}/fd"))
    return found


async def harm(server_url: str, report: Report) -> None:
    """Let one trigger block its event loop among others that tick."""
    number, blocks_sec = share(TICKING, report.scale, of=10), max(5.0, BLOCKS_SEC * report.scale)
    report.progress(f"one trigger blocks for {blocks_sec:.0f} s among {number} that tick")
    async with waiting_room(server_url) as room:
        said = room.folder / "triggerer.log"
        async with room.triggerers(1, "--capacity", str(2 * number), said=said):
            path = room.notes.path
            await room.wait("benchmarks.waiters.Ticks", number, lambda n: {"notes": path, "number": n})
            await room.notes.until(20 * number)
            await room.wait("benchmarks.waiters.Blocks", 1, lambda n: {"notes": path, "seconds": blocks_sec})
            named_sec = await asyncio.to_thread(until_named, room, said)
            await asyncio.sleep(blocks_sec)
        pause = longest_pause(room)
    words = f"P15: longest pause of {number} others, s"
    report.add(what=words, figure=pause, floor=0.1, target=report.target("≤", LONGEST_PAUSE_SEC, pause))
    report.add(what="P15: until it was named with its stack, s", figure=named_sec, floor=None, target="")


def until_named(room: Room, said: Path) -> float:
    """Wait until the log names who blocks; tell how long after it began."""
    while NAMED not in said.read_text():
        threading.Event().wait(0.01)
    return time.time() - next(moment for number, moment in room.notes.lines() if number < 0)


def longest_pause(room: Room) -> float:
    """Find the longest time between two ticks of any of them."""
    ticks: dict[int, list[float]] = defaultdict(list)
    for number, moment in room.notes.lines():
        if number >= 0:
            ticks[number].append(moment)
    last = max(moments[-1] for moments in ticks.values())
    pauses = [after - before for each in ticks.values() for before, after in zip(each, [*each[1:], last], strict=True)]
    return max(pauses)
