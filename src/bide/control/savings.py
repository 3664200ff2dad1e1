"""What waiting for free has saved: the time for which tasks waited without a worker, and what that would have cost."""

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct

from bide.store import savings
from bide.store.database import Database
from bide.store.savings import Waited

HOUR = timedelta(hours=1)
COUNTED = (
    "Counted is the time for which tasks were deferred, each of which would else have held one slot of a worker. "
    "Waits that still go on count up to now."
)


class Saved(Struct, frozen=True):
    """What a DAG has saved; money only where a price is known."""

    dag_id: str
    waits: int
    waited: timedelta
    hours: float
    money: float | None


class Savings(Struct, frozen=True):
    """What has been saved in a period, by DAG, the most first, and together."""

    since: datetime
    until: datetime
    price: float
    dags: list[Saved]
    total: Saved


async def saved(
    db: Database, since: datetime, until: datetime, price: float, told: Callable[[int], object] = lambda waits: None
) -> Savings:
    """Add up what has been saved; `told` hears how many waits have been added up so far."""
    found: dict[str, Waited] = {}

    def add(waits: list[Waited]) -> None:
        for one in waits:
            before = found.get(one.dag_id, Waited(one.dag_id, 0, timedelta(0)))
            found[one.dag_id] = Waited(one.dag_id, before.waits + one.waits, before.waited + one.waited)
        told(sum(one.waits for one in found.values()))

    at: datetime | None = since
    id: int | None = -1
    while at is not None and id is not None:
        batch = await savings.waits_ended(db, since, until, at, id)
        add(batch.found)
        at, id = batch.last_at, batch.last_id
    id = 0
    while id is not None:
        batch = await savings.waits_going_on(db, since, until, id)
        add(batch.found)
        id = batch.last_id
    dags = sorted((_saved(one, price) for one in found.values()), key=lambda one: (-one.hours, one.dag_id))
    total = Waited("", sum(one.waits for one in dags), sum((one.waited for one in dags), timedelta(0)))
    return Savings(since, until, price, dags, _saved(total, price))


def _saved(one: Waited, price: float) -> Saved:
    hours = one.waited / HOUR
    return Saved(one.dag_id, one.waits, one.waited, hours, hours * price if price else None)
