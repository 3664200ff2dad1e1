"""Two verbs that meet, interleaved by force: the second arrives while the transaction of the first is open."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bide.sql import statement
from tests.race.ring import Party, Picture, Ring, picture
from tests.race.scene import FIRST, Scene, Spot, Subject, script
from tests.race.verdict import findings
from tests.race.words import WORDS, apart, candidates, outdates, verb_of


@dataclass(frozen=True)
class Act:
    """A verb, and about whom it is said."""

    word: str
    on: tuple[Subject, ...] = (FIRST,)

    async def by(self, party: Party, who: str) -> object:
        return await WORDS[self.word](party.db, who, self.on)


async def duel(ring: Ring, scene: Scene, first: Act, second: Act, first_commits: bool) -> list[str]:
    """Say both verbs, the second one into the open transaction of the first, and tell what went wrong.

    It must end as if they had been said one after the other, or only the second one if the first was rolled back.
    """
    await ring.build(scene)
    await ring.first.begin()
    await first.by(ring.first, "first")
    late = asyncio.create_task(second.by(ring.second, "second"))
    wrong = []
    held_up = await ring.held_up(late)
    meets = not apart(first.word, second.word)
    if meets and not held_up and (late.result() or not _skips_locked(second)):
        wrong.append(f"the second did not wait for the first and said {late.result()}")
    await (ring.first.commit() if first_commits else ring.first.rollback())
    # Whoever skips locked rows comes again with its next look.
    answer = await late if held_up or not meets else await second.by(ring.second, "second")
    seen = await picture(ring.watcher)

    acts = (first, second) if first_commits else (second,)
    expected, expected_picture = await one_after_the_other(ring, scene, acts)
    if answer != expected:
        wrong.append(f"the second was answered {answer}, not {expected}")
    wrong += [
        f"{table} is {seen[table]}, not {expected_picture[table]}"
        for table in seen
        if seen[table] != expected_picture[table]
    ]
    if first_commits and answer and outdates(first.word, second.word) and first.on == second.on:
        wrong.append(f"the second was accepted with a fence that the first had taken away: {answer}")
    if not first_commits and not answer:
        wrong.append("the second was refused although nothing had happened")
    wrong += findings(seen, forsaken=scene[0][0].kind == "wait")
    return [
        f"{first.word}, {'committed' if first_commits else 'rolled back'}, then {second.word}: {each}" for each in wrong
    ]


def _skips_locked(act: Act) -> bool:
    return "skip locked" in statement(verb_of(act.word)).text


async def one_after_the_other(ring: Ring, scene: Scene, acts: Sequence[Act]) -> tuple[object, Picture]:
    """Return the last answer and the picture that remains when nobody is in a hurry."""
    key = tuple((str(spot), subject) for spot, subject in scene), tuple(acts)
    if key not in ring.serial:
        await ring.first.begin()
        try:
            await ring.first.connection.execute(script(scene))
            answer: object = None
            for act in acts:
                answer = await act.by(ring.first, "second" if act is acts[-1] else "first")
            ring.serial[key] = answer, await picture(ring.first)
        finally:
            await ring.first.rollback()
    return ring.serial[key]


async def rivals(ring: Ring, spot: Spot) -> list[str]:
    """Return what is accepted in a spot when it is said alone: these words meet there."""
    scene = [(spot, FIRST)]
    return [word for word in candidates(spot) if (await one_after_the_other(ring, scene, [Act(word)]))[0]]
