"""What is stored encrypted, for the rotation of keys; the statements are in sql/secrets.sql."""

from collections.abc import Sequence

from msgspec import Struct

from bide.store.database import Database
from bide.store.holding import Resealed, Sealed
from bide.store.rows import columns


class NamedSecret(Struct, frozen=True):
    """A sealed variable or connection."""

    name: str
    sealed: str


class ResealedSecret(Struct, frozen=True):
    """A sealed value as it was read, and as it shall be stored."""

    name: str
    sealed: str
    resealed: str


async def resealable_kills(db: Database, after_id: int, limit: int) -> list[Sealed]:
    """Read one batch of sealed arguments of stopped waits, from this id on."""
    return [Sealed(**row) for row in await db.rows("resealable_kills", after_id, limit)]


async def reseal_kills(db: Database, waits: Sequence[Resealed]) -> int:
    """Store them sealed anew, and count those that were still there."""
    return len(await db.rows("reseal_kills", *columns(Resealed, waits)))


async def resealable_variables(db: Database, after: str, limit: int) -> list[NamedSecret]:
    """Read one batch of sealed variables, from this key on."""
    return [NamedSecret(**row) for row in await db.rows("resealable_variables", after, limit)]


async def reseal_variables(db: Database, secrets: Sequence[ResealedSecret]) -> int:
    """Store them sealed anew, and count those that were still there."""
    return len(await db.rows("reseal_variables", *columns(ResealedSecret, secrets)))


async def resealable_connections(db: Database, after: str, limit: int) -> list[NamedSecret]:
    """Read one batch of sealed connections, from this id on."""
    return [NamedSecret(**row) for row in await db.rows("resealable_connections", after, limit)]


async def reseal_connections(db: Database, secrets: Sequence[ResealedSecret]) -> int:
    """Store them sealed anew, and count those that were still there."""
    return len(await db.rows("reseal_connections", *columns(ResealedSecret, secrets)))
