"""What one small durable commit costs on this machine: below it no verb about a single row can get."""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from statistics import median, quantiles
from time import perf_counter

import asyncpg

from benchmarks.bed import bare_connection, fresh_database
from benchmarks.report import OUT, Report, share

TITLE = "What the commit of one small row costs"
TIMES = 1000
TOGETHER = 4
INSERT = "insert into small (text) values (repeat('x', 100))"
PAGE = b"x" * 8192

Attempt = Callable[[], Awaitable[object]]


async def measure(server_url: str, report: Report) -> None:
    """Take turns with every way to write a row, and report each one's time."""
    times = share(TIMES, report.scale)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(fresh_database(server_url))
        connections = [await stack.enter_async_context(bare_connection(url)) for _ in range(TOGETHER + 2)]
        await connections[0].execute("create table small (id bigint generated always as identity, text text)")
        await connections[-1].execute("set synchronous_commit = off")
        OUT.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=OUT) as file:
            attempts = ways(connections, file.fileno())
            report.progress(f"each {times} times")
            seconds = await in_turns(attempts, times)
    durable, lazy = (median(seconds[what]) for what in ("commit", "commit that is not waited for"))
    for what, found in seconds.items():
        report.add(
            what=what,
            per_second=(TOGETHER if "together" in what else 1) / median(found),
            median_ms=1000 * median(found),
            p95_ms=1000 * quantiles([*found, *found], n=20)[-1],
        )
    report.add(
        what="waiting for the disk: the difference",
        per_second=None,
        median_ms=1000 * (durable - lazy),
        p95_ms=None,
    )


def ways(connections: list[asyncpg.Connection], file: int) -> dict[str, Attempt]:
    """Name everything that is timed."""
    one, lazy, *several = connections[0], connections[-1], *connections[1:-1]

    async def fdatasync() -> None:
        os.pwrite(file, PAGE, 0)
        os.fdatasync(file)

    async def together() -> None:
        await asyncio.gather(*(connection.fetch(INSERT) for connection in several))

    return {
        "fdatasync of one page, no database": fdatasync,
        "round trip without a write": lambda: one.fetch("select 1"),
        "commit that is not waited for": lambda: lazy.fetch(INSERT),
        "commit": lambda: one.fetch(INSERT),
        f"commits on {TOGETHER} connections together": together,
    }


async def in_turns(attempts: dict[str, Attempt], times: int) -> dict[str, list[float]]:
    """Time every attempt in every round, so that all see the same noise."""
    seconds: dict[str, list[float]] = {what: [] for what in attempts}
    for _ in range(times):
        for what, attempt in attempts.items():
            began = perf_counter()
            await attempt()
            seconds[what].append(perf_counter() - began)
    return seconds
