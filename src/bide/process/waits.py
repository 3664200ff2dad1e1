"""From a wait as it is asked for to the wait as it is stored: sealed for its own row."""

from bide.model.wait import Wait
from bide.sealing import Sealer, wait
from bide.store.deferral import NewWait
from bide.store.rows import Leg


def as_stored(asked: Wait, leg: Leg, version: int | None, number: int, sealer: Sealer, takes_queue: bool) -> NewWait:
    """Seal the arguments with the number of the wait: they open in this row only, and for this class path.

    With `takes_queue` it has the queue of its task where it says none itself. A class that stands in the folder of DAG
    files runs in the `version` that its task goes with.
    """
    version = version if asked.own_code else None
    return NewWait(
        id=leg.id,
        leg=leg.leg,
        trigger_id=number,
        classpath=asked.classpath,
        kwargs=sealer.seal(asked.kwargs, wait(number, asked.classpath)),
        next_method=asked.next_method,
        next_kwargs=asked.next_kwargs,
        timeout=asked.timeout,
        due_at=asked.due_at,
        due_in=asked.due_in,
        event=asked.event,
        ends=asked.ends,
        # Equal arguments do not mean the same wait where they are those of other code.
        shared_key=asked.shared_key and (asked.shared_key if version is None else f"{asked.shared_key}:{version}"),
        on_kill=asked.on_kill,
        queue=asked.queue,
        takes_queue=takes_queue,
        dag_version_id=version,
    )
