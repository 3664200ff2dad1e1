"""A scheduler with a worker that is played by the test: each leg ends as the test says, and nothing waits."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bide.model.instances import new_tasks
from bide.model.outcome import Failed, Outcome, Rescheduled, Skipped, Succeeded
from bide.model.plan import DagPlan, TaskPlan, encode_plan
from bide.model.retry import Retry, after_failure
from bide.model.states import TaskState
from bide.process.waits import WaitWriter
from bide.scheduler.rounds import Rounds
from bide.sealing import Sealer, generate_key
from bide.store import jobs, legs, people, runs, views
from bide.store.database import Database
from bide.store.legs import FailedLeg, RescheduledLeg, SkippedLeg, Started
from bide.store.rows import Leg, XCom
from bide.store.runs import NewRun

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
PATIENCE = timedelta(seconds=30)
WHO = "town"
WRITER = WaitWriter(Sealer([generate_key()]), by_queue=True)
Plays = Mapping[str, Outcome | Callable[[Started], Outcome]]


def task(task_id: str, *upstream: str, **settings: Any) -> TaskPlan:
    """A task that comes after others."""
    return TaskPlan(task_id=task_id, operator="Played", upstream=upstream, **settings)


def dag(dag_id: str, *tasks: TaskPlan, **settings: Any) -> DagPlan:
    """A DAG of such tasks."""
    return DagPlan(dag_id=dag_id, tasks=tasks, **settings)


@dataclass
class Town:
    """The database, a scheduler, a worker, and what the worker has run."""

    db: Database
    connection: Any
    rounds: Rounds
    worker: int
    ran: list[str] = field(default_factory=list)

    async def store(self, plan: DagPlan, **columns: Any) -> int:
        """Store a new version of a DAG, as the DAG processor does."""
        await self.connection.execute(
            "insert into dag (dag_id, max_active_tasks, max_active_runs) values ($1, $2, $3) on conflict (dag_id)"
            " do update set max_active_tasks = $2, max_active_runs = $3",
            *(plan.dag_id, plan.max_active_tasks, plan.max_active_runs),
        )
        version = await self.connection.fetchval(
            "insert into dag_version (dag_id, number, plan, created_at)"
            " select $1, coalesce(max(number), 0) + 1, $2, bide_now() from dag_version where dag_id = $1 returning id",
            *(plan.dag_id, encode_plan(plan).decode()),
        )
        await self.connection.execute("update dag set version_id = $2 where dag_id = $1", plan.dag_id, version)
        if columns:
            settings = ", ".join(f"{name} = ${place}" for place, name in enumerate(columns, 2))
            await self.connection.execute(
                f"update dag set {settings} where dag_id = $1", plan.dag_id, *columns.values()
            )
        return int(version)

    async def launch(self, plan: DagPlan, *run_ids: str, logical_date: datetime | None = None) -> None:
        """Launch runs of the latest version."""
        version = await self.connection.fetchval("select version_id from dag where dag_id = $1", plan.dag_id)
        new = [NewRun(run_id, logical_date) for run_id in run_ids or ("run",)]
        await runs.launch(self.db, WHO, plan.dag_id, version, "manual", plan.dagrun_timeout, new, new_tasks(plan))

    async def play(self, plays: Plays | None = None, most: int = 1000, legs_at_once: int = 1000) -> None:
        """Schedule and run legs until there is nothing to do. What is not said succeeds."""
        for _ in range(most):
            await self.rounds.go()
            offered = await views.offered(self.db, ["default"], legs_at_once)
            if not offered:
                return
            for started in await legs.start(self.db, WHO, self.worker, offered):
                self.ran.append(name_of(started.task_id, started.map_index))
                said = (plays or {}).get(started.task_id, Succeeded())
                await self._end(started, said(started) if callable(said) else said)
        raise AssertionError("there is always something to do")

    async def _end(self, started: Started, outcome: Outcome) -> None:
        leg = Leg(started.id, started.leg)
        match outcome:
            case Succeeded(xcoms=xcoms):
                values = [XCom(leg.id, leg.leg, key, value) for key, value in xcoms.items()]
                await legs.succeed(self.db, WHO, [leg], values)
            case Skipped(reason=why):
                await legs.skip(self.db, WHO, [SkippedLeg(leg.id, leg.leg, why)])
            case Failed(error=why, retryable=retryable):
                policy = await self._policy(started)
                following = after_failure(policy, started.try_number, started.max_tries, retryable=retryable)
                rest = following.delay if isinstance(following, Retry) else None
                await legs.fail(self.db, WHO, [FailedLeg(leg.id, leg.leg, "running", rest, why)])
            case Rescheduled(until=until, after=after):
                await legs.reschedule(self.db, WHO, [RescheduledLeg(leg.id, leg.leg, until, after)])
            case _:
                raise AssertionError(f"nobody plays {outcome}")

    async def _policy(self, started: Started) -> Any:
        version = await self.connection.fetchval("select dag_version_id from dag_run where id = $1", started.dag_run_id)
        return (await self.rounds.plans.of([version]))[version].tasks[started.task_id].retry

    async def states(self, run_id: str = "run") -> dict[str, TaskState]:
        """The state of each task instance of a run, by the name of its task and its map index."""
        rows = await self.connection.fetch(
            "select task_id, map_index, state from task_instance where run_id = $1 order by id", run_id
        )
        return {name_of(row["task_id"], row["map_index"]): TaskState(row["state"]) for row in rows}

    async def run_states(self) -> dict[str, str]:
        """The state of each run."""
        return dict(await self.connection.fetch("select run_id, state from dag_run order by id"))

    async def pass_time(self, time: timedelta) -> None:
        """Move the clock."""
        await self.connection.execute("update clock set frozen_at = frozen_at + $1", time)

    async def clear(self, *task_ids: str, run_id: str = "run") -> None:
        """Clear tasks, as a person does."""
        await people.clear(self.db, "person", PATIENCE, await self.ids(*task_ids, run_id=run_id))

    async def ids(self, *task_ids: str, run_id: str = "run") -> list[int]:
        """The instances of tasks."""
        rows = await self.connection.fetch(
            "select id from task_instance where task_id = any ($1) and run_id = $2 order by id", task_ids, run_id
        )
        return [row["id"] for row in rows]


def name_of(task_id: str, map_index: int) -> str:
    """Name an instance."""
    return task_id if map_index < 0 else f"{task_id}[{map_index}]"


def words(states: Mapping[str, TaskState], names: Iterable[str] | None = None) -> str:
    """Write states on one line."""
    return ", ".join(f"{name} {states[name]}" for name in names or states)


async def new_town(db: Database, connection: Any) -> Town:
    """A town in which it is noon."""
    await connection.execute("update clock set frozen_at = $1", NOW)
    worker = await jobs.register(
        db, WHO, jobs.NewJob(job_type=jobs.JobType.WORKER, hostname="town", heartbeat_sec=86_400)
    )
    return Town(db, connection, Rounds(db, lambda channel: None, WRITER, "scheduler", PATIENCE, 500), worker)
