"""From a wait as it is asked for to the wait as it is stored: sealed for its own row."""

from bide.model.wait import Wait
from bide.sealing import Sealer, wait
from bide.store.deferral import NewWait
from bide.store.rows import Leg


class WaitWriter:
    """Words waits as they are stored. With `by_queue` each takes the queue of its task, if it names none itself."""

    def __init__(self, sealer: Sealer, *, by_queue: bool = False) -> None:
        self._sealer = sealer
        self._by_queue = by_queue

    def stored(self, asked: Wait, leg: Leg, version: int | None, task_queue: str, number: int) -> NewWait:
        """Seal the arguments with the number of the wait: they open in this row only, and for this class path.

        A class that stands in the folder of DAG files runs in the `version` that its task goes with.
        """
        version = version if asked.own_code else None
        queue = asked.queue or (task_queue if self._by_queue else None)
        return NewWait(
            id=leg.id,
            leg=leg.leg,
            trigger_id=number,
            classpath=asked.classpath,
            kwargs=self._sealer.seal(asked.kwargs, wait(number, asked.classpath)),
            next_method=asked.next_method,
            next_kwargs=asked.next_kwargs,
            timeout=asked.timeout,
            due_at=asked.due_at,
            due_in=asked.due_in,
            event=asked.event,
            ends=asked.ends,
            shared_key=_shared_key(asked.shared_key, version, queue),
            on_kill=asked.on_kill,
            queue=queue,
            dag_version_id=version,
        )


def _shared_key(key: str | None, version: int | None, queue: str | None) -> str | None:
    """Equal arguments do not mean the same wait where they are those of other code, or are looked after elsewhere."""
    if key is None:
        return None
    return ":".join([key, *([] if version is None else [str(version)]), *([] if queue is None else [f"@{queue}"])])
