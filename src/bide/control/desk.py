"""Variables and connections: their values are sealed before they are stored, and opened for whoever may see them."""

from bide import sealing
from bide.errors import Refusal
from bide.model.wait import LONGEST_ID, is_name
from bide.sealing import Sealer
from bide.store import children, control
from bide.store.database import Database


async def set_variable(db: Database, sealer: Sealer, key: str, value: str, description: str = "") -> None:
    """Set a variable."""
    _must_be_a_name("key", key)
    await children.write_variable(db, key, sealer.seal(value, sealing.variable(key)), description)


async def variable(db: Database, sealer: Sealer, key: str) -> str | None:
    """Read a variable."""
    sealed = await children.read_variable(db, key)
    return None if sealed is None else sealer.open(sealed, sealing.variable(key))


async def set_connection(
    db: Database, sealer: Sealer, conn_id: str, conn_type: str, text: str, description: str = ""
) -> None:
    """Set a connection to a URI or a JSON text."""
    _must_be_a_name("connection id", conn_id)
    await control.write_connection(db, conn_id, conn_type, description, sealer.seal(text, sealing.connection(conn_id)))


async def connection(db: Database, sealer: Sealer, conn_id: str) -> str | None:
    """Read a connection's URI or JSON text."""
    sealed = await children.read_connection(db, conn_id)
    return None if sealed is None else sealer.open(sealed, sealing.connection(conn_id))


def _must_be_a_name(what: str, given: str) -> None:
    if not is_name(given):
        raise Refusal(f"The {what} {given[:100]!r} must be printable and have 1 to {LONGEST_ID} bytes.")
