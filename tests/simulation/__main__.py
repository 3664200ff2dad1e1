"""Many seeds, on all cores, on one PostgreSQL: `python -m tests.simulation --seeds 300 --steps 300 --from 1`.

`--seed 7` replays one and prints its digest. The server comes along, unless BIDE_TEST_DATABASE_URL names another.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bide import embedded
from tests.conftest import FAST
from tests.simulation.many import run


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=300, help="how many seeds")
    parser.add_argument("--steps", type=int, default=300, help="how many steps of each")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first seed")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    first, number = (given.first, given.seeds) if given.seed is None else (given.seed, 1)
    with server() as url:
        return run(url, range(first, first + number), given.steps, min(given.processes, number))


@contextmanager
def server() -> Iterator[str]:
    """The server that the environment names, or one that lives as long as the block."""
    if url := os.environ.get("BIDE_TEST_DATABASE_URL"):
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="bide-simulation-") as folder:
        settings = {**FAST, "autovacuum": "off"}
        with embedded.running(Path(folder) / "postgres", settings=settings) as embedded_server:
            yield embedded_server.url


if __name__ == "__main__":
    sys.exit(main())
