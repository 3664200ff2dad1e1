"""The rotation of keys: all that is stored encrypted is sealed anew with the first key, while everything goes on.

Batch by batch, each value only if it is still the one that was opened. What was done stays done, so a rotation that was
interrupted is just begun again; what the first key has sealed already is only read.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from msgspec import Struct

from bide import sealing
from bide.errors import SealingError
from bide.sealing import Place, Sealer
from bide.store import holding, secrets
from bide.store.database import Database
from bide.store.holding import Resealed, Sealed
from bide.store.secrets import ResealedSecret

BATCH = 500

Key = TypeVar("Key", int, str)
Secret = TypeVar("Secret")
Fresh = TypeVar("Fresh")


class Rotated(Struct, frozen=True):
    """What one batch has come to; `locked` says what no key opens, and why."""

    kind: str
    read: int
    renewed: int
    locked: list[str]


@dataclass(frozen=True)
class _Kind(Generic[Key, Secret, Fresh]):
    """One kind of secrets: how a batch is read and stored, where it begins, and what is told of each."""

    name: str
    first: Key
    read: Callable[[Database, Key, int], Awaitable[list[Secret]]]
    store: Callable[[Database, Sequence[Fresh]], Awaitable[int]]
    known: Callable[[Secret], tuple[Key, str, Place]]
    fresh: Callable[[Key, str, str], Fresh]

    async def rotate(self, db: Database, sealer: Sealer) -> AsyncIterator[Rotated]:
        """Seal all of it anew."""
        after = self.first
        while found := await self.read(db, after, BATCH):
            locked: list[str] = []
            fresh = []
            for key, token, place in map(self.known, found):
                after = key
                if renewed := _renewed(sealer, token, place, locked):
                    fresh.append(self.fresh(key, token, renewed))
            yield Rotated(self.name, len(found), await self.store(db, fresh) if fresh else 0, locked)


async def rotate(db: Database, sealer: Sealer) -> AsyncGenerator[Rotated, None]:
    """Seal everything anew; yields after each batch."""
    for kind in _KINDS:
        async for batch in kind.rotate(db, sealer):
            yield batch


def _renewed(sealer: Sealer, token: str, place: Place, locked: list[str]) -> str | None:
    """Seal one value anew, if that is to be done; what cannot be opened at its place is named."""
    try:
        renewed = sealer.renewed(token)
        if renewed is not None:
            sealer.open(renewed, place)
        return renewed
    except SealingError as error:
        locked.append(f"{place[1]}: {error}")
        return None


def _of_wait(one: Sealed) -> tuple[int, str, Place]:
    return one.id, one.kwargs, sealing.wait(one.id, one.classpath)


_KINDS: tuple[_Kind[Any, Any, Any], ...] = (
    _Kind(
        "variables",
        "",
        secrets.resealable_variables,
        secrets.reseal_variables,
        lambda one: (one.name, one.sealed, sealing.variable(one.name)),
        ResealedSecret,
    ),
    _Kind(
        "connections",
        "",
        secrets.resealable_connections,
        secrets.reseal_connections,
        lambda one: (one.name, one.sealed, sealing.connection(one.name)),
        ResealedSecret,
    ),
    _Kind("waits", -1, holding.resealable, holding.reseal, _of_wait, Resealed),
    _Kind("calls of on_kill", -1, secrets.resealable_kills, secrets.reseal_kills, _of_wait, Resealed),
)
KINDS = tuple(kind.name for kind in _KINDS)
"""What is stored encrypted, in the order in which it is sealed anew."""
