"""`python -m benchmarks`: every benchmark, or those that are named, on a server of its own with durable commits."""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

import asyncpg
from rich.console import Console

from benchmarks import (
    commit,
    crowd,
    cycles,
    events,
    first,
    flow,
    growth,
    launch,
    legs,
    moments,
    parallel,
    parsing,
    resting,
    soak,
    timers,
    verbs,
)
from benchmarks.report import OUT, Report, machine
from bide import embedded

BENCHMARKS = {
    "commit": commit,
    "verbs": verbs,
    "parallel": parallel,
    "launch": launch,
    "crowd": crowd,
    "cycles": cycles,
    "events": events,
    "first": first,
    "flow": flow,
    "growth": growth,
    "legs": legs,
    "moments": moments,
    "parsing": parsing,
    "resting": resting,
    "timers": timers,
}
LONG = {"soak": soak}
"""Only when they are named: they take a quarter of an hour."""
FULL, QUICK = 1.0, 0.05
WIDTH = 110  # of the widest table


async def run(server_url: str, names: Sequence[str], scale: float, console: Console, out: Path) -> None:
    """Run benchmarks one after the other, and report each as soon as it is over."""
    connection = await asyncpg.connect(server_url)
    here = machine(await connection.fetchval("show server_version"))
    await connection.close()
    for name in names:
        module = (BENCHMARKS | LONG)[name]
        report = Report(name, module.TITLE, scale, console, here)
        await module.measure(server_url, report)
        report.finish(out)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help=f"{', '.join(BENCHMARKS)} (all of them if none is given), {', '.join(LONG)}",
    )
    parser.add_argument("--quick", action="store_true", help="fewer rows, to see in a minute that everything runs")
    given = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="server-", dir=OUT) as folder,
        embedded.running(Path(folder)) as server,
    ):
        console = Console(width=max(Console().width, WIDTH))
        asyncio.run(run(server.url, given.names or list(BENCHMARKS), QUICK if given.quick else FULL, console, OUT))


if __name__ == "__main__":
    main()
