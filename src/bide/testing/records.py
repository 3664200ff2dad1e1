"""What can be read about the runs of an engine."""

from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from bide.authoring.values import VALUES
from bide.authoring.xcomarg import RETURN_KEY
from bide.model.plan import DagPlan
from bide.model.states import RunState
from bide.store import children, reports, scratch
from bide.store.database import Database
from bide.store.reports import HistoryLine, Progress
from bide.store.scratch import InstanceState
from bide.testing.ground import Background

Answer = TypeVar("Answer")
MANY = 1000


class Records:
    """Reads what has become of runs."""

    def __init__(self, background: Background, db: Database) -> None:
        self._background, self._db = background, db
        self._plans: dict[str, DagPlan] = {}
        self._names: dict[int, tuple[str, str]] = {}

    def states(self, run: int) -> tuple[RunState, list[InstanceState]]:
        """Tell how a run and its task instances stand."""
        return self._run(scratch.states_of_run(self._db, run))

    def history(self, run: int, task_id: str, map_index: int = -1) -> list[HistoryLine]:
        """Tell everything that has become of a task, the first thing first."""
        ids = [one.id for one in self.states(run)[1] if (one.task_id, one.map_index) == (task_id, map_index)]
        return self._run(reports.task_history(self._db, ids[0], MANY)) if ids else []

    def progress(self, run: int) -> Sequence[Progress]:
        """Tell how many instances of each task of a run are in which states."""
        return self._run(reports.run_progress(self._db, run))

    def plan_of(self, run: int) -> DagPlan:
        """Give the plan of a run's DAG."""
        return self._plans[self._names[run][0]]

    def name(self, run: int) -> str:
        """Give the id of a run."""
        return self._names[run][1]

    def logs(self, run: int) -> dict[int, str]:
        """Read what the tasks of a run have written, by task instance."""
        return self._run(scratch.logs_of_run(self._db, run))

    def values(self, run: int) -> dict[int, Any]:
        """Read what the tasks of a run have returned, by task instance."""
        found = self._run(scratch.values_of_run(self._db, run, RETURN_KEY))
        return {id: VALUES.decode(text) for id, text in found.items()}

    def xcom(self, run: int, task_id: str, map_index: int = -1, key: str = "return_value") -> Any:
        """Read what a task has left."""
        dag_id, run_id = self._names[run]
        text = self._run(children.read_xcom(self._db, dag_id, run_id, task_id, map_index, key))
        return None if text is None else VALUES.decode(text)

    def _run(self, act: Coroutine[Any, Any, Answer]) -> Answer:
        return self._background.run(act)
