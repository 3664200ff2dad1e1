"""Real processes under load, and a monkey among them: `python -m tests.chaos --seconds 60 --seed 1`.

The seed decides what the monkey and the people do; what comes of it differs from time to time, as on any machine. The
folder, with what every service has written, stays if something was wrong.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.run import chaos
from tests.system.power import power
from tests.system.site import learn


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="how long the monkey is at large")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what it does")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bide-chaos-"))
    print(f"chaos: seed {given.seed}, {given.seconds:g} s, in {folder}", flush=True)
    with power(folder / "server") as switch:
        asyncio.run(learn(switch.on(), folder))
        report = asyncio.run(chaos(switch, folder, given.seconds, given.seed))
    print("\n".join(report.lines()))
    if report.violation is not None:
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
