"""The real engine in one process: the scheduler's rounds, and legs that run in the caller's thread."""

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Self, TypeVar

from bide.authoring import DAG
from bide.authoring.clock import kept_by
from bide.authoring.context import aside
from bide.authoring.plan import to_plan
from bide.authoring.values import VALUES
from bide.authoring.xcomarg import RETURN_KEY
from bide.children.child import print_failure
from bide.children.run import run_leg
from bide.control import desk, launching
from bide.exceptions import EngineRefused, TaskTimeout
from bide.hosting.answers import Answers
from bide.hosting.logs import LogWriter
from bide.model.outcome import Failed
from bide.model.plan import DagPlan
from bide.model.questions import Ask
from bide.model.retry import RetryPolicy
from bide.model.states import RunState, TaskState
from bide.process.wakes import Bells
from bide.scheduler.rounds import Rounds
from bide.sealing import Sealer, generate_key
from bide.store import children, jobs, legs, people, reports, scratch, views
from bide.store.database import Database
from bide.store.jobs import JobType, NewJob
from bide.store.legs import Started
from bide.store.reports import Progress
from bide.store.scratch import InstanceState
from bide.store.wake import Hints
from bide.testing.ground import Background, fresh
from bide.testing.interrupts import Interrupts
from bide.testing.output import Show, taken_in
from bide.worker.leg import Leg
from bide.worker.outbox import Outbox

Answer = TypeVar("Answer")
WHO = "test"
MANY = 1000
LOG_LIMIT_KB = 10_240
KILL_PATIENCE = timedelta(seconds=30)
LONGEST_WAIT = timedelta(days=366)
SHORTEST_MOVE = timedelta(microseconds=1)
NONE: Mapping[str, Any] = MappingProxyType({})


class Engine:
    """DAGs that run on a database of their own. Its clock stands still until `go` or `move` moves it."""

    def __init__(
        self,
        background: Background,
        db: Database,
        started_at: datetime,
        environ: Mapping[str, str] = NONE,
        show: Show | None = None,
    ) -> None:
        """`environ` may hold variables and connections; `show` is given what tasks write."""
        self.changed: Callable[[], object] = lambda: None
        """Is called whenever something may have changed."""
        self._background, self._db = background, db
        self._show = show
        self._interrupts = Interrupts()
        self._dags: dict[str, DAG] = {}
        self._plans: dict[str, DagPlan] = {}
        self._names: dict[int, tuple[str, str]] = {}
        bells = Bells(Hints(db))
        sealer = Sealer([generate_key()])
        self._sealer = sealer
        self._rounds = Rounds(db, lambda channel: None, WHO, KILL_PATIENCE, MANY)
        self._answers = Answers(db, bells, sealer, environ, KILL_PATIENCE)
        self._outbox = Outbox(db, sealer, LogWriter(db), lambda: None)
        self._outbox.who = WHO
        self._run(scratch.set_clock(db, started_at))
        job = NewJob(job_type=JobType.WORKER, hostname="test", heartbeat_sec=LONGEST_WAIT.total_seconds())
        self._outbox.worker_id = self._run(jobs.register(db, WHO, job))

    @classmethod
    @contextmanager
    def fresh(
        cls, started_at: datetime | None = None, environ: Mapping[str, str] = NONE, show: Show | None = None
    ) -> Iterator[Self]:
        """Give an engine for as long as the block runs."""
        with fresh() as (background, db):
            yield cls(background, db, started_at or datetime.now(UTC), environ, show)

    @property
    def now(self) -> datetime:
        """What its clock says."""
        return self._run(scratch.read_clock(self._db))

    def move(self, by: timedelta) -> None:
        """Move its clock."""
        self._run(scratch.set_clock(self._db, self.now + by))

    def add(self, dag: DAG, plan: DagPlan | None = None) -> None:
        """Make a DAG known, or a new version of it; the plan is its own, unless only some of it shall run."""
        plan = plan or to_plan(dag)
        self._dags[dag.dag_id], self._plans[dag.dag_id] = dag, plan
        self._run(scratch.store_version(self._db, plan))

    def set_variable(self, key: str, value: str) -> None:
        """Set a variable that tasks may read."""
        self._run(desk.set_variable(self._db, self._sealer, key, value))

    def set_connection(self, conn_id: str, conn_type: str, text: str) -> None:
        """Set a connection that tasks may use: a URI or a JSON text."""
        self._run(desk.set_connection(self._db, self._sealer, conn_id, conn_type, text))

    def launch(
        self,
        dag: DAG,
        conf: Mapping[str, Any] = NONE,
        logical_date: datetime | None = None,
        run_id: str | None = None,
    ) -> int:
        """Launch a run, and give its number."""
        if dag.dag_id not in self._dags:
            self.add(dag)
        text = VALUES.encode(dict(conf), "conf") if conf else None
        launched = self._run(
            launching.launch(self._db, WHO, dag.dag_id, run_id=run_id, logical_date=logical_date, conf=text)
        )
        if launched is None:
            raise ValueError(f"DAG {dag.dag_id!r} has a run {run_id!r} already.")
        self._names[launched.id] = dag.dag_id, launched.run_id
        return launched.id

    def go(self) -> None:
        """Run everything to its end; where there is only to wait, the clock moves on."""
        while True:
            while self.step():
                pass
            until_due = self._run(self._rounds.go())
            if until_due is None or until_due > LONGEST_WAIT:
                return
            self.move(max(until_due, timedelta(0)))

    def step(self) -> bool:
        """Schedule, and run one batch of legs; false if there was none to run."""
        self._run(self._rounds.go())
        queues = sorted({task.queue for plan in self._plans.values() for task in plan.tasks})
        offered = self._run(views.offered(self._db, queues, MANY))
        started = self._run(legs.start(self._db, WHO, self._outbox.worker_id, offered)) if offered else []
        self.changed()
        for one in started:
            self._play(one)
            self.changed()
        return bool(started)

    def rest(self, leg: Leg, seconds: float) -> None:
        """Let time pass in the middle of a leg: others are run meanwhile."""
        until = self.now + timedelta(seconds=seconds)
        limit = leg.started.try_time_left
        deadline = None if limit is None else leg.started.now + limit
        while (left := until - self.now) > timedelta(0):
            with aside():
                while self.step():
                    pass
            until_due = self._run(self._rounds.go())
            self.move(left if until_due is None else min(left, max(until_due, SHORTEST_MOVE)))
            if deadline is not None and self.now >= deadline:
                raise TaskTimeout("The task has taken longer than its execution_timeout.")

    def clear(self, ids: list[int]) -> None:
        """Clear task instances, as a person does."""
        self._run(people.clear(self._db, WHO, KILL_PATIENCE, ids))

    def mark(self, ids: list[int], state: TaskState) -> None:
        """Mark task instances, as a person does."""
        self._run(people.mark(self._db, WHO, KILL_PATIENCE, ids, state, "marked by hand"))

    def states(self, run: int) -> tuple[RunState, list[InstanceState]]:
        """Tell how a run and its task instances stand."""
        return self._run(scratch.states_of_run(self._db, run))

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

    def _play(self, started: Started) -> None:
        plan = self._plans[started.dag_id]
        policy = next((task.retry for task in plan.tasks if task.task_id == started.task_id), RetryPolicy())
        leg = Leg(started, policy, LOG_LIMIT_KB)
        with self._interrupts.noticed():
            with taken_in(leg, self._show), kept_by(_Clock(self, leg)):
                outcome = run_leg(leg.order(), self._dags[started.dag_id], _Port(self, leg))
                if isinstance(outcome, Failed):
                    print_failure(outcome)
            self._outbox.put(leg, outcome, None)
            self._run(self._outbox.commit())

    def answer(self, leg: Leg, question: Ask) -> Any:
        """Answer a question of a leg."""
        answer = self._run(self._answers.answer(leg, question))
        if answer.refused is not None:
            raise EngineRefused(answer.refused)
        return answer.value

    def _run(self, act: Coroutine[Any, Any, Answer]) -> Answer:
        return self._background.run(act)


class _Port:
    """A leg's way to the engine, without a socket in between."""

    def __init__(self, engine: Engine, leg: Leg) -> None:
        self._engine, self._leg = engine, leg

    def ask(self, question: Ask) -> Any:
        """Ask the engine."""
        return self._engine.answer(self._leg, question)


class _Clock:
    """The engine's clock, as the code of a leg waits by it."""

    def __init__(self, engine: Engine, leg: Leg) -> None:
        self._engine, self._leg = engine, leg

    def now(self) -> float:
        """Return the seconds."""
        return self._engine.now.timestamp()

    def rest(self, seconds: float) -> None:
        """Let some pass."""
        self._engine.rest(self._leg, seconds)
