"""What all simulated processes have in common: they register, beat, crash, freeze, and remember more than is true."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar, TypeVar

from bide.store.jobs import JobType, NewJob
from tests.simulation.world import World

HEARTBEAT_SEC = 20.0
MANY = 1000
SELDOM = 0.2
T = TypeVar("T")
Action = Callable[[], Awaitable[None]]


class Actor:
    """One process: what it has been told is all it knows, and that may be long ago."""

    kind: ClassVar[JobType]

    def __init__(self, world: World, name: str, queues: tuple[str, ...] = (), holds_lock: bool = False) -> None:
        self.world, self.name, self.queues, self.holds_lock = world, name, queues, holds_lock
        self.rng = world.rng
        self.job = 0
        self.frozen = False
        self.forget()

    @property
    def who(self) -> str:
        return f"{self.name} {self.job}"

    def forget(self) -> None:
        """Lose the memory, as in a crash."""
        raise NotImplementedError

    def actions(self) -> Sequence[tuple[float, Action]]:
        """What it may do next, by weight. The dice are loaded: looking where there is nothing to see is rare."""
        raise NotImplementedError

    async def round(self) -> None:
        """Do everything that is to be done, in order, as a healthy process does."""
        raise NotImplementedError

    async def join(self) -> None:
        """Register anew."""
        new = NewJob(
            job_type=self.kind,
            hostname=self.name,
            queues=self.queues,
            heartbeat_sec=HEARTBEAT_SEC,
            holds_lock=self.holds_lock,
        )
        self.job = await self.world.register(self.name, new)

    async def beat(self) -> None:
        """Say that it is alive; who was buried drops everything and registers anew."""
        if await self.world.say("beat", self.who, self.job) is False:
            await self.crash()
            await self.join()

    async def crash(self) -> None:
        """The process is gone, and its lock with it."""
        await self.world.free_lock(self.job)
        self.job = 0
        self.forget()

    async def retire(self) -> None:
        """Leave in order, as far as words arrive."""
        await self.world.say("retire", self.who, self.job)
        await self.crash()

    async def healthy(self) -> None:
        """Be there, alive and known."""
        self.frozen = False
        if self.job:
            await self.beat()
        else:
            await self.join()

    def and_maybe(self, look: Action, say: Action) -> Action:
        """Look, and mostly speak at once; else later, when it may no longer be true."""

        async def both() -> None:
            await look()
            if self.rng.random() < 0.6:
                await say()

        return both

    def some(self, items: Sequence[T], most: int = 4) -> tuple[T, ...]:
        """A few of them, in their order; all of them once the chaos is over."""
        if not self.world.chaos:
            return tuple(items)
        chosen = sorted(self.rng.sample(range(len(items)), min(len(items), self.rng.randint(1, most))))
        return tuple(items[place] for place in chosen)

    def drop(self, memory: dict[int, Any], ids: Sequence[int], answer: object) -> None:
        """Forget what was answered, one way or the other. Without an answer it may say it again, or forget it."""
        if answer is not None or self.rng.random() < 0.4:
            for id in ids:
                memory.pop(id, None)
