"""Short ways to write a DAG file, to run one leg of it, and to run all of it in order."""

import itertools
import re
import textwrap
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import prod
from typing import Any

import pytest

from bide.authoring.collect import FileBroken, collect
from bide.authoring.dag import DAG
from bide.authoring.plan import to_plan
from bide.authoring.values import VALUES
from bide.children.run import run_leg
from bide.errors import PlanError
from bide.model.graph import topological
from bide.model.messages import RunFacts, RunLeg
from bide.model.outcome import Failed, Outcome, Rescheduled, Skipped, Succeeded
from bide.model.plan import SKIPS_KEY, DagPlan, MapInput, MapSource, TaskPlan
from bide.model.states import TaskState
from bide.model.trigger_rules import Upstream, Verdict, judge
from tests.authoring.engine import Engine

NOW = datetime(2026, 3, 2, 7, 30, tzinfo=UTC)
DAY = datetime(2026, 3, 1, tzinfo=UTC)
RUN_ID = "scheduled__2026-03-01"
ROOT, PATH = "/dags", "/dags/example.py"
_MOST_LOOKS = 20

_numbers = itertools.count(1)


def dags_in(source: str, path: str = PATH, root: str = ROOT) -> dict[str, DAG]:
    """Return the DAGs of a file with this source."""
    return collect(path, root, textwrap.dedent(source)).dags


def dag_in(source: str) -> DAG:
    """Return the only DAG of a file with this source."""
    (dag,) = dags_in(source).values()
    return dag


def plan_of(source: str) -> DagPlan:
    """Return the plan of the only DAG of a file with this source."""
    return to_plan(dag_in(source))


def facts(dag: DAG, **known: Any) -> RunFacts:
    """Describe a daily run of a DAG; `conf` is given as it is."""
    conf = known.pop("conf", None)
    return RunFacts(
        **{
            "dag_id": dag.dag_id,
            "run_id": RUN_ID,
            "run_type": "scheduled",
            "logical_date": DAY,
            "data_interval_start": DAY,
            "data_interval_end": DAY + timedelta(days=1),
            "start_date": NOW,
            "conf": None if conf is None else VALUES.encode(conf),
            **known,
        }
    )


def order_for(dag: DAG, task_id: str, map_index: int = -1, **known: Any) -> RunLeg:
    """Order a leg of a task."""
    of_run = {name: known.pop(name) for name in list(known) if name in RunFacts.__struct_fields__}
    return RunLeg(
        **{
            "id": next(_numbers),
            "leg": 1,
            "task_id": task_id,
            "map_index": map_index,
            "try_number": 1,
            "max_tries": 0,
            "run": facts(dag, **of_run),
            "now": NOW,
            **known,
        }
    )


def leg_of(dag: DAG, task_id: str, engine: Engine | None = None, map_index: int = -1, **known: Any) -> Outcome:
    """Run one leg of a task, and keep the XComs that it leaves."""
    engine = Engine() if engine is None else engine
    order = order_for(dag, task_id, map_index, **known)
    engine.leg = (dag.dag_id, order.run.run_id, task_id, map_index)
    outcome = run_leg(order, dag, engine)
    if isinstance(outcome, Succeeded):
        engine.xcoms |= {(*engine.leg, key): text for key, text in outcome.xcoms.items()}
    return outcome


def returned(outcome: Outcome) -> Any:
    """Return what a leg has returned."""
    assert isinstance(outcome, Succeeded), outcome
    return VALUES.decode(outcome.xcoms["return_value"]) if "return_value" in outcome.xcoms else None


def failure(outcome: Outcome) -> str:
    """Return the sentence with which a leg has failed."""
    assert isinstance(outcome, Failed), outcome
    return outcome.error


def result_of(body: str, task_id: str = "t", engine: Engine | None = None, **known: Any) -> Any:
    """Return what a task returns that is written in a DAG file."""
    return returned(leg_of(dag_in(body), task_id, engine, **known))


@dataclass
class Walk:
    """All tasks of one run, one after the other, by the rules of the model."""

    dag: DAG
    engine: Engine = field(default_factory=Engine)
    known: dict[str, Any] = field(default_factory=dict)
    states: dict[str, list[TaskState]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.plan = to_plan(self.dag)
        tasks = {task.task_id: task for task in self.plan.tasks}
        for task_id in topological(self.plan):
            self.states[task_id] = self._visit(tasks[task_id])

    def state(self, task_id: str) -> TaskState:
        """Return how the only instance of a task has ended."""
        (state,) = self.states[task_id]
        return state

    def value(self, task_id: str, map_index: int = -1, key: str = "return_value") -> Any:
        """Return an XCom that a task has left."""
        return VALUES.decode(self.engine.xcoms[self.dag.dag_id, RUN_ID, task_id, map_index, key])

    def _visit(self, task: TaskPlan) -> list[TaskState]:
        if task.task_id in self.skipped:
            return [TaskState.SKIPPED]
        upstream = Upstream.of(state for before in task.upstream for state in self.states[before])
        match judge(task.trigger_rule, upstream):
            case Verdict.SKIP:
                return [TaskState.SKIPPED]
            case Verdict.UPSTREAM_FAILED:
                return [TaskState.UPSTREAM_FAILED]
        if task.is_empty:
            return [TaskState.SUCCESS]
        if task.mapped is None:
            return [self._run(task, -1)]
        count = prod(self._length(each) for each in task.mapped.inputs)
        return [self._run(task, index) for index in range(count)] or [TaskState.SKIPPED]

    def _run(self, task: TaskPlan, index: int) -> TaskState:
        for _ in range(_MOST_LOOKS):
            outcome = leg_of(self.dag, task.task_id, self.engine, index, **self.known)
            match outcome:
                case Succeeded():
                    if task.branches:
                        self.skipped |= set(self.value(task.task_id, index, SKIPS_KEY))
                    return TaskState.SUCCESS
                case Skipped():
                    return TaskState.SKIPPED
                case Failed(error=error):
                    self.failures[task.task_id] = error
                    return TaskState.FAILED
                case Rescheduled():
                    continue
        raise AssertionError(f"{task.task_id} looks again and again")

    def _length(self, given: MapInput) -> int:
        lengths = [self._source_length(source) for source in given.sources]
        match given.combine:
            case "zip":
                return min(lengths)
            case "zip_longest":
                return max(lengths)
            case "concat":
                return sum(lengths)

    def _source_length(self, source: MapSource) -> int:
        if source.length is not None:
            return source.length
        assert source.task_id is not None
        if self.dag.get_task(source.task_id).is_mapped:
            return sum(state is TaskState.SUCCESS for state in self.states[source.task_id])
        return len(self.value(source.task_id, key=source.key))


IMPORTS = """\
from datetime import datetime, timedelta, timezone
import pendulum
from bide import *
from bide.operators.bash import BashOperator
from bide.operators.empty import EmptyOperator
from bide.sensors.python import PythonSensor
"""


def refusal(body: str) -> tuple[int, str]:
    """Return the line of a DAG file, counted below its imports, and the sentence with which it is refused."""
    with pytest.raises((FileBroken, PlanError)) as refused:
        plan_of(IMPORTS + textwrap.dedent(body.strip("\n")))
    found = re.fullmatch(r"/dags/example\.py:(\d+): (.*)", str(refused.value), re.DOTALL)
    assert found is not None, refused.value
    return int(found[1]) - IMPORTS.count("\n"), found[2]
