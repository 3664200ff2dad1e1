"""The real engine in one process: the scheduler's rounds, and legs that run in the caller's thread."""

from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Self, TypeVar

from bide.authoring import DAG
from bide.authoring.context import aside
from bide.authoring.plan import to_plan
from bide.authoring.values import VALUES
from bide.children.child import print_failure
from bide.children.driving import as_event, crash_of, worded
from bide.children.run import run_leg
from bide.control import desk, launching
from bide.exceptions import EngineRefused, TaskTimeout
from bide.hosting.answers import Answers
from bide.hosting.logs import LogWriter
from bide.hosting.wait_overs import Over, say
from bide.model.outcome import Failed
from bide.model.plan import DagPlan
from bide.model.questions import Ask
from bide.model.retry import RetryPolicy
from bide.model.states import TaskState
from bide.process.waits import WaitWriter
from bide.process.wakes import Bells
from bide.scheduler.rounds import Rounds
from bide.sealing import Sealer, generate_key
from bide.store import control, jobs, legs, people, scratch, views
from bide.store.database import Database
from bide.store.holding import Claim
from bide.store.jobs import JobType, NewJob
from bide.store.legs import Started
from bide.store.scratch import Waiting
from bide.store.wake import Hints
from bide.testing.around import around
from bide.testing.calls import Calls
from bide.testing.ground import Background, fresh
from bide.testing.interrupts import Interrupts
from bide.testing.output import Show, named
from bide.testing.records import Records
from bide.testing.waiter import LOG_LIMIT_KB, Talk
from bide.testing.waits import Waits
from bide.worker.leg import Leg, Work
from bide.worker.outbox import Outbox

Answer = TypeVar("Answer")
WHO = "test"
MANY = 1000
KILL_PATIENCE = timedelta(seconds=30)
PATIENCE = timedelta(seconds=5)
LONGEST_WAIT = timedelta(days=366)
SHORTEST_MOVE = timedelta(microseconds=1)
NONE: Mapping[str, Any] = MappingProxyType({})


class Engine(Records):
    """DAGs that run on a database of their own. Its clock stands still until `go` or `move` moves it."""

    def __init__(
        self,
        background: Background,
        db: Database,
        started_at: datetime,
        environ: Mapping[str, str] = NONE,
        show: Show | None = None,
        patience: timedelta = PATIENCE,
    ) -> None:
        """`environ` may hold variables and connections; `show` is given what tasks write.

        `patience` is how long what triggers do outside this process may take before the clock moves on past it.
        """
        self.changed: Callable[[], object] = lambda: None
        """Is called whenever something may have changed."""
        super().__init__(background, db)
        self._show = show
        self._interrupts = Interrupts()
        self._dags: dict[str, DAG] = {}
        bells = Bells(Hints(db))
        sealer = Sealer([generate_key()])
        self._sealer = sealer
        self._rounds = Rounds(db, lambda channel: None, WaitWriter(sealer), WHO, KILL_PATIENCE, MANY)
        self._answers = Answers(db, bells, sealer, environ, KILL_PATIENCE)
        logs = LogWriter(db)
        self._outbox = Outbox(db, WaitWriter(sealer), logs, lambda: None)
        self._outbox.who = WHO
        self._run(scratch.set_clock(db, started_at))
        job = NewJob(job_type=JobType.WORKER, hostname="test", heartbeat_sec=LONGEST_WAIT.total_seconds())
        self._outbox.worker_id = self._run(jobs.register(db, WHO, job))
        self._by_hand: Collection[str] = ()
        self._calls = Calls(background, db, logs, WHO, show, self._interrupts)
        talk = Talk(WHO, self._answers, logs, show, self._at)
        self._waits = Waits(background, db, sealer, talk, started_at, patience)

    @classmethod
    @contextmanager
    def fresh(
        cls,
        started_at: datetime | None = None,
        environ: Mapping[str, str] = NONE,
        show: Show | None = None,
        patience: timedelta = PATIENCE,
    ) -> Iterator[Self]:
        """Give an engine for as long as the block runs."""
        with fresh() as (background, db):
            engine = cls(background, db, started_at or datetime.now(UTC), environ, show, patience)
            try:
                yield engine
            finally:
                engine.close()

    def close(self) -> None:
        """Let go of what still waits."""
        self._waits.close()

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

    def set_pool(self, name: str, slots: int, *, include_deferred: bool = False) -> None:
        """Make a pool, or change it."""
        self._run(control.set_pool(self._db, name, slots, include_deferred, ""))

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

    def go(self, by_hand: Collection[str] = ()) -> None:
        """Run everything to its end; where there is only to wait, the clock moves on.

        The triggers of tasks that are named in `by_hand` are not run: when one of them waits, and nothing else is to be
        done, this returns, so that the caller can say by `fire` what its trigger yields.
        """
        self._by_hand = by_hand
        while self.step() or self._move_on():
            pass

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
        called = self._calls.make(self, self._dags, self._outbox.worker_id, queues)
        return bool(started) or called

    def rest(self, leg: Work, seconds: float) -> None:
        """Let time pass in the middle of a leg: others are run meanwhile."""
        until = self.now + timedelta(seconds=seconds)
        limit = leg.started.try_time_left
        deadline = None if limit is None else leg.started.now + limit
        while (left := until - self.now) > timedelta(0):
            with aside():
                while self.step():
                    pass
                self._waits.look(self._by_hand)
            self._pass_time(self._run(self._rounds.go()), left)
            if deadline is not None and self.now >= deadline:
                raise TaskTimeout("The task has taken longer than its execution_timeout.")

    def fire(self, run: int, task_id: str, event: Any = None, map_index: int = -1) -> None:
        """Say what the trigger of a deferred task yields: a payload or a whole event; or what it raises."""
        found = [row for row in self.waiting(run) if (row.task_id, row.map_index) == (task_id, map_index)]
        if not found:
            raise ValueError(f"{named(task_id, map_index)} is not deferred, so it has no trigger that could be fired.")
        how = crash_of(event) if isinstance(event, BaseException) else worded(as_event(event))
        self._run(say(self._db, WHO, [Over(Claim(found[0].id, found[0].claim), how)]))

    def waiting(self, run: int) -> list[Waiting]:
        """List the tasks of a run that are deferred."""
        return [row for row in self._run(scratch.waits_of_runs(self._db)) if row.dag_run_id == run]

    def _move_on(self) -> bool:
        """Let time pass until something may have changed; false if nothing will change by itself."""
        if any(row.task_id in self._by_hand for run in self._names for row in self.waiting(run)):
            return False
        self._waits.look(self._by_hand)
        until_due = self._run(self._rounds.go())
        if not self._waits.are_going_on and (until_due is None or until_due > LONGEST_WAIT):
            return False
        return self._pass_time(until_due, LONGEST_WAIT)

    def _pass_time(self, until_due: timedelta | None, longest: timedelta) -> bool:
        """Let time pass until something is due or a trigger has something to say; false if it was the longest time."""
        now = self.now
        until = now + (longest if until_due is None else min(longest, max(until_due, SHORTEST_MOVE)))
        then = self._waits.pass_time(now, until) if self._waits.are_going_on else until
        self._run(scratch.set_clock(self._db, then))
        self._waits.commit()
        return then < now + longest

    def _at(self, now: datetime, act: Coroutine[Any, Any, Answer]) -> "Future[Answer]":
        async def then() -> Answer:
            await scratch.set_clock(self._db, now)
            return await act

        return self._background.begin(then())

    def clear(self, ids: list[int]) -> None:
        """Clear task instances, as a person does."""
        self._run(people.clear(self._db, WHO, KILL_PATIENCE, ids))

    def mark(self, ids: list[int], state: TaskState) -> None:
        """Mark task instances, as a person does."""
        self._run(people.mark(self._db, WHO, KILL_PATIENCE, ids, state, "marked by hand"))

    def _play(self, started: Started) -> None:
        plan = self._plans[started.dag_id]
        policy = next((task.retry for task in plan.tasks if task.task_id == started.task_id), RetryPolicy())
        leg = Leg(started, policy, LOG_LIMIT_KB)
        with self._interrupts.noticed():
            with around(self, leg, self._show) as port:
                outcome = run_leg(leg.order(), self._dags[started.dag_id], port)
                if isinstance(outcome, Failed):
                    print_failure(outcome)
            self._outbox.put(leg, outcome, None)
            self._run(self._outbox.commit())

    def answer(self, leg: Work, question: Ask) -> Any:
        """Answer a question of a leg."""
        answer = self._run(self._answers.answer(leg, question))
        if answer.refused is not None:
            raise EngineRefused(answer.refused)
        return answer.value
