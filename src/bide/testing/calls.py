"""Callbacks of tasks and DAGs, made in the caller's thread."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from bide.authoring import DAG
from bide.children.callbacks import run_callback
from bide.hosting.logs import LogWriter
from bide.model.outcome import Failed
from bide.store import callbacks
from bide.store.callbacks import EndedCall, Taken
from bide.store.database import Database
from bide.testing.around import Host, around
from bide.testing.ground import Background
from bide.testing.interrupts import Interrupts
from bide.testing.output import Show
from bide.testing.waiter import LOG_LIMIT_KB
from bide.worker.call import Call

WITHIN = timedelta(minutes=1)
MANY = 1000


class Calls:
    """Takes up what is to be called, and calls it."""

    def __init__(
        self, background: Background, db: Database, logs: LogWriter, who: str, show: Show | None, interrupts: Interrupts
    ) -> None:
        self._background, self._db, self._logs = background, db, logs
        self._who, self._show, self._interrupts = who, show, interrupts

    def make(self, host: Host, dags: Mapping[str, DAG], worker_id: int, queues: Sequence[str]) -> bool:
        """Make all calls that are asked for; false if there are none."""
        wanted = callbacks.take_callback(self._db, self._who, worker_id, queues, MANY, WITHIN)
        taken = self._background.run(wanted)
        for one in taken:
            self._make(host, dags[one.started.dag_id], one)
        return bool(taken)

    def _make(self, host: Host, dag: DAG, taken: Taken) -> None:
        call = Call(taken, WITHIN, LOG_LIMIT_KB)
        with self._interrupts.noticed():
            with around(host, call, self._show) as port:
                outcome = run_callback(call.order(), dag, port)
            call.log.end()
            self._background.run(self._logs.store([call.log]))
            error = outcome.error if isinstance(outcome, Failed) else None
            ended = EndedCall(taken.call.id, taken.call.claim, error)
            self._background.run(callbacks.end_callback(self._db, self._who, [ended]))
