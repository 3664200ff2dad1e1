"""The test of the test: whatever is broken in a verb is noticed, and as what it is."""

import pytest

from tests.simulation.broken import BROKEN, Broken
from tests.simulation.simulate import Report, simulate
from tests.simulation.world import Arena, arena

STEPS = 300
MOST_SEEDS = 40


@pytest.mark.parametrize("broken", BROKEN, ids=str)
async def test_a_broken_verb_is_noticed(database: str, broken: Broken) -> None:
    async with arena(database, broken.instead()) as place:
        report = await first_violation(place)
    assert report.invariant in broken.violates.split(), report.violation


async def test_what_is_noticed_is_told_so_that_it_can_be_seen_again(database: str) -> None:
    broken = next(broken for broken in BROKEN if broken.verb == "succeed")
    async with arena(database, broken.instead()) as place:
        report = await first_violation(place)
        again = await simulate(place, report.seed, STEPS)
    assert (again.digest, again.steps, again.invariant) == (report.digest, report.steps, report.invariant)
    where, *history, replay = report.violation.splitlines()
    assert where.startswith(f"seed {report.seed}, step {report.steps}: {report.invariant}: succeed by ")
    assert replay == f"replay: python -m tests.simulation --seed {report.seed} --steps {STEPS}"
    assert "verb=succeed task_instance_id=" in history[-1]
    assert all(entry.startswith("id=") for entry in history)


async def first_violation(place: Arena) -> Report:
    for seed in range(1, MOST_SEEDS + 1):
        report = await simulate(place, seed, STEPS)
        if report.violation:
            return report
    raise AssertionError(f"{MOST_SEEDS} seeds have noticed nothing")
