"""Some seeds on every run of the tests; `make simulate` runs as many as one likes."""

import asyncio
import os
import re
import sys
from collections import Counter

import pytest

from bide.model.transitions import HOLDER_VERBS, RUN_VERBS, TASK_VERBS
from tests.meta.tree import ROOT
from tests.simulation.many import not_covered
from tests.simulation.simulate import simulate
from tests.simulation.world import arena

STEPS = 300
SEEDS_OF_A_TEST = 6
VERBS = [verb.name for table in (TASK_VERBS, RUN_VERBS, HOLDER_VERBS) for verb in table]


@pytest.mark.parametrize("first", range(1, 25, SEEDS_OF_A_TEST))
async def test_no_invariant_is_violated(database: str, first: int) -> None:
    async with arena(database) as place:
        reports = [await simulate(place, seed, STEPS) for seed in range(first, first + SEEDS_OF_A_TEST)]
    assert "\n".join(report.violation for report in reports).strip() == ""
    assert all(report.steps == STEPS and report.rounds for report in reports)


async def test_a_seed_is_played_again_exactly_whatever_was_played_before(database: str) -> None:
    async with arena(database) as place:
        reports = [await simulate(place, seed, 100) for seed in (5, 6, 5)]
    assert reports[0] == reports[2]
    assert reports[0].digest != reports[1].digest


async def test_a_seed_is_played_again_exactly_in_another_process(server_url: str, database: str) -> None:
    async with arena(database) as place:
        here = await simulate(place, 7, 100)
    digests = await asyncio.gather(*(digest_elsewhere(server_url, hash_seed) for hash_seed in ("1", "2")))
    assert digests == [here.digest] * 2


async def digest_elsewhere(server_url: str, hash_seed: str) -> str:
    """Play seed 7 by the command that a violation names, where words and sets are hashed in another way."""
    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.simulation", "--seed", "7", "--steps", "100"),
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "BIDE_TEST_DATABASE_URL": server_url},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await command.communicate()
    assert command.returncode == 0, out.decode()
    (digest,) = re.findall(r"^digest of seed 7: (\w+)$", out.decode(), re.MULTILINE)
    return str(digest)


def test_a_verb_that_was_never_heard_or_never_refused_is_named() -> None:
    enough = Counter(VERBS)
    assert list(not_covered(enough, enough)) == []
    assert list(not_covered(enough - Counter(["fire"]), enough - Counter(["lapse"]))) == [
        "fire was never accepted",
        "lapse was never refused",
    ]
