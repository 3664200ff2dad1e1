"""A simulated triggerer: it claims waits, runs them in no time, and says how they ended."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Literal

from bide.store import views
from bide.store.deferral import Crashed, Ended, Fired, as_error
from bide.store.holding import Claim, Parked
from bide.store.jobs import JobType
from bide.store.rows import XCom
from tests.simulation.actors import SELDOM, Action, Actor

WORDS = {"fire": 40, "end": 20, "crash": 10, "park": 10, "release": 12}
ENDS: tuple[Literal["success", "skipped", "scheduled"], ...] = ("success", "skipped", "scheduled")


class Triggerer(Actor):
    """Holds waits: each is a trigger and the claim that it was given."""

    kind = JobType.TRIGGERER

    def forget(self) -> None:
        self.held: dict[int, int] = {}
        self.kills: dict[int, int] = {}

    def actions(self) -> Sequence[tuple[float, Action]]:
        ledger = self.world.ledger
        return (
            (SELDOM + 3 * ledger.has_free_waits(), self.claim),
            (4 * bool(self.held), self.tell),
            (0.5, self.compare),
            (SELDOM + bool(ledger.kills), self.take_kills),
            (bool(self.kills), self.acknowledge),
            (SELDOM / 5, self.leave),
        )

    async def round(self) -> None:
        await self.compare()
        await self.claim()
        await self.tell()
        await self.take_kills()
        await self.acknowledge()

    async def claim(self) -> None:
        limit = self.rng.randint(1, 5) if self.world.chaos else 1000
        answer = await self.world.say("claim", self.who, self.job, self.queues, limit)
        self.held |= {wait.id: wait.claim for wait in answer or ()}

    async def compare(self) -> None:
        """Hold its waits against what the database says: some were taken away, some came with a lost answer."""
        self.held = {wait.id: wait.claim for wait in await views.waits_of(self.world.db, self.job)}

    async def tell(self) -> None:
        if self.held:
            chosen = self.some(list(self.held))
            verb = self.rng.choices(list(WORDS), list(WORDS.values()))[0] if self.world.chaos else "fire"
            answer = await self.world.say(verb, self.who, *self._word(verb, chosen))
            self.drop(self.held, chosen, answer)

    def _word(self, verb: str, chosen: Sequence[int]) -> tuple[Any, ...]:
        claims = [(id, self.held[id]) for id in chosen]
        if verb == "fire":
            return (tuple(Fired(id, claim, json.dumps({"of": id, "claim": claim})) for id, claim in claims),)
        if verb == "end":
            ended = tuple(self._ended(id, claim) for id, claim in claims)
            return ended, tuple(XCom(id, claim, "return_value", json.dumps([id, claim])) for id, claim in claims)
        if verb == "crash":
            return (tuple(Crashed(id, claim, as_error("it raised"), "its trigger raised") for id, claim in claims),)
        if verb == "park":
            pause = timedelta(seconds=self.rng.uniform(5, 60))
            return (tuple(Parked(id, claim, "no such module", pause) for id, claim in claims),)
        return self.job, tuple(Claim(id, claim) for id, claim in claims), "hand-over"

    def _ended(self, id: int, claim: int) -> Ended:
        state = self.rng.choice(ENDS)
        return Ended(id, claim, state, as_error("it says so") if state == "scheduled" else None)

    async def take_kills(self) -> None:
        limit = self.rng.randint(1, 3) if self.world.chaos else 1000
        answer = await self.world.say("take_kill", self.who, self.job, self.queues, limit, tuple(self.kills))
        self.kills |= {kill.trigger_id: kill.claim for kill in answer or ()}

    async def acknowledge(self) -> None:
        if self.kills:
            chosen = self.some(list(self.kills))
            claims = tuple(Claim(id, self.kills[id]) for id in chosen)
            self.drop(self.kills, chosen, await self.world.say("acknowledge", self.who, claims))

    async def leave(self) -> None:
        """Let go of everything, and go."""
        await self.world.say("release_all", self.who, self.job, "it leaves")
        await self.retire()
