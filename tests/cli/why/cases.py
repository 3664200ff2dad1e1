"""The table of causes, and what most of its rows begin with."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from bide.model.plan import DagPlan, TaskPlan
from bide.model.retry import RetryPolicy
from bide.model.states import TaskState
from bide.store import jobs
from bide.store.jobs import JobType, NewJob
from tests.cli.waits import defer
from tests.scheduler.town import Town, dag, task

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
EMPTY = """
    truncate task_instance, dag_run, trigger, kill, history, xcom, look, callback cascade;
    delete from job where hostname <> 'town'; delete from pool where name <> 'default_pool';
    update pool set slots = 128; update dag set is_paused = false
"""
S = TaskState
Arranged = Callable[[Town], Awaitable[str]]
TABLE: list[tuple[TaskState, str, str, Arranged]] = []


def case(state: TaskState, cause: str, sentence: str) -> Callable[[Arranged], Arranged]:
    """A way to bring a cause about; it returns which task to ask about."""

    def added(arranged: Arranged) -> Arranged:
        TABLE.append((state, cause, sentence, arranged))
        return arranged

    return added


async def launched(town: Town, *tasks: TaskPlan, **settings: Any) -> DagPlan:
    plan = dag("d", *tasks, **settings)
    await town.store(plan)
    await town.launch(plan)
    return plan


async def scheduler(town: Town) -> None:
    await jobs.register(town.db, "test", NewJob(job_type=JobType.SCHEDULER, hostname="here"))


async def worker(town: Town, *queues: str, capacity: int = 8) -> int:
    job = NewJob(job_type=JobType.WORKER, hostname="here", queues=queues, capacity=capacity)
    return await jobs.register(town.db, "test", job)


async def waiting(town: Town, **wait: Any) -> int:
    await launched(town, task("a", retry=RetryPolicy(retries=1, delay=MINUTE)))
    return (await defer(town, a=wait))["a"]
