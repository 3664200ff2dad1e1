"""Every two verbs that can meet on one row, in both orders, with both endings of the first one."""

from itertools import product

import pytest

from bide.model.transitions import HOLDER_VERBS, RUN_VERBS, VERBS
from tests.race.duel import Act, duel, rivals
from tests.race.ring import ring
from tests.race.scene import FIRST, SPOTS, Spot
from tests.race.words import ALONE, verb_of

ENDINGS = (True, False)


@pytest.mark.parametrize("spot", SPOTS, ids=str)
async def test_of_two_verbs_that_meet_the_second_sees_all_that_the_first_did(arena: str, spot: Spot) -> None:
    async with ring(arena) as here:
        words = await rivals(here, spot)
        wrong = [
            finding
            for first, second, commits in product(words, words, ENDINGS)
            for finding in await duel(here, [(spot, FIRST)], Act(first), Act(second), commits)
        ]
        assert wrong == []
        assert here.first.errors + here.second.errors == []


async def test_every_verb_of_the_table_meets_its_rivals_in_every_state_that_it_leaves(arena: str) -> None:
    async with ring(arena) as here:
        meeting = [(spot, await rivals(here, spot)) for spot in SPOTS]
    left = {(verb_of(word), spot.task["state"].strip("'")) for spot, words in meeting for word in words}
    missing = {(verb.name, state.value) for verb in VERBS.values() for state in verb.moves} - left
    assert missing == set()
    others = ({verb.name for verb in HOLDER_VERBS} | {verb.name for verb in RUN_VERBS}) - ALONE
    assert others - {verb for verb, _ in left} == set()
    pairs = sum(len(words) ** 2 for _, words in meeting)
    print(f"{pairs} ordered pairs in {len(SPOTS)} spots, {pairs * len(ENDINGS)} races")
    assert pairs > 1000
