"""One chaos run: services under a load of runs, a monkey among them, and a verdict when all has ended."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.fleet import FLEET, Fleet
from tests.chaos.monkey import Monkey
from tests.chaos.people import LOAD, People
from tests.process.eventually import eventually
from tests.simulation.ledger import Violation
from tests.system.power import Power
from tests.system.site import Site, patiently, site
from tests.system.verdict import check_all

REFUSED = re.compile(r"(\d+) refused of (\w+) by")
SETTLES_WITHIN_SEC = 120


@dataclass
class Report:
    """What happened, and what was wrong with it, if anything was."""

    monkey: Counter[str]
    people: Counter[str]
    runs: Counter[str]
    verbs: Mapping[str, int]
    refused: Counter[str]
    violation: str | None

    def lines(self) -> Iterator[str]:
        """Tell it."""
        yield f"monkey:   {counted(self.monkey)}"
        yield f"people:   {counted(self.people)}"
        yield f"runs:     {counted(self.runs)}"
        yield f"verbs:    {counted(self.verbs)}"
        yield f"refused:  {counted(self.refused)}"
        yield f"verdict:  {self.violation or 'nothing is wrong, nothing is stuck'}"


def counted(counts: Mapping[str, int]) -> str:
    """Write counts on one line, the largest first."""
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items(), key=lambda item: -item[1])) or "none"


async def chaos(switch: Power, folder: Path, seconds: float, seed: int) -> Report:
    """Let it go on for so many seconds on a server that knows the DAGs, then let everything end, and judge."""
    async with site(switch.on(), folder) as here:
        fleet = Fleet(here, FLEET)
        monkey, people = Monkey(here, fleet, switch, seed), People(here, LOAD, seed)
        violation = None
        try:
            fleet.start()
            await here.registered(*fleet.at_work)
            await trouble(fleet, monkey, people, seconds)
            await settled(here, fleet)
            await check_all(here.hand, here.notes())
            await fleet.stop()
            await eventually(lambda: not here.left_over())
        except (Violation, AssertionError) as error:
            violation = str(error)
        return await report(here, monkey, people, violation)


async def trouble(fleet: Fleet, monkey: Monkey, people: People, seconds: float) -> None:
    """Let people work and the monkey spoil it, until the time is up or a service has ended by itself."""
    tasks = [asyncio.create_task(one) for one in (fleet.keep(), people.go(), monkey.go())]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await monkey.leave()


async def settled(here: Site, fleet: Fleet) -> None:
    """Wait until every run has ended. Whoever was told to end meanwhile is replaced."""
    await here.reconnect()
    keeping = asyncio.create_task(fleet.keep())
    try:
        await here.all_end(SETTLES_WITHIN_SEC)
        await patiently(fleet.is_at_work)
    finally:
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping


async def report(here: Site, monkey: Monkey, people: People, violation: str | None) -> Report:
    """Count what has happened."""
    await here.reconnect()
    rows = await here.hand.fetch("select verb, count(*) as number from history group by verb")
    refused: Counter[str] = Counter()
    for service in here.services:
        for number, verb in REFUSED.findall(service.log.read_text(errors="replace")):
            refused[verb] += int(number)
    verbs = {row["verb"]: row["number"] for row in rows}
    return Report(monkey.done, people.done, await here.run_states(), verbs, refused, violation)
