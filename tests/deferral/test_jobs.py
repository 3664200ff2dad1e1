"""Jobs in other systems: started once, found again, waited for without a worker, and stopped with their task."""

from typing import Any, ClassVar

import pytest

from bide import DAG
from bide.model.states import TaskState
from bide.operators.job import JobOperator, JobState
from bide.testing import Engine
from bide.testing.results import result_of
from tests.testing.conftest import NOON


class Cluster:
    """Another system: by job how it is to end, and what has happened to it."""

    jobs: ClassVar[dict[int, list[str]]] = {}


class ClusterJob(JobOperator):
    """Runs a job there; dies after it was submitted if it is told to."""

    def __init__(self, *, ends: str = "done", looks: int = 3, dies: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.ends, self.looks, self.dies = ends, looks, dies

    def submit(self, context: Any) -> int:
        number = len(Cluster.jobs) + 1
        Cluster.jobs[number] = [self.ends]
        return number

    def status(self, job_id: int) -> JobState:
        job = Cluster.jobs[job_id]
        if self.dies and len(job) == 1:
            job.append("died")
            raise ValueError("the worker dies here")
        job.append("looked")
        ended = "cancelled" in job or job.count("looked") > self.looks
        return "running" if not ended else "done" if job[0] == "done" and "cancelled" not in job else "failed"

    def result(self, job_id: int, context: Any) -> str:
        return f"result of {job_id}"

    def cancel(self, job_id: int) -> None:
        Cluster.jobs[job_id].append("cancelled")


@pytest.fixture(autouse=True)
def _no_jobs() -> None:
    Cluster.jobs.clear()


def launched(engine: Engine, **given: Any) -> int:
    with DAG("jobs", schedule=None) as made:
        ClusterJob(task_id="t", poke_interval=60, **given)
    return engine.launch(made, logical_date=NOON)


def test_a_job_is_started_waited_for_and_read(engine: Engine) -> None:
    number = launched(engine)
    engine.go()
    assert result_of(engine, number)["t"].value == "result of 1"
    verbs = [entry.verb for entry in engine.history(number, "t")]
    assert verbs == ["ready", "enqueue", "start", "defer", "fire", "enqueue", "start", "succeed"]


def test_a_job_that_fails_is_started_anew_by_the_next_try(engine: Engine) -> None:
    number = launched(engine, ends="failed", retries=1, retry_delay=60)
    engine.go()
    result = result_of(engine, number)["t"]
    assert (result.state, result.tries, len(Cluster.jobs)) == ("failed", 2, 2)
    assert "Job 1 has failed." in result.log


def test_a_job_whose_task_died_is_found_again(engine: Engine) -> None:
    number = launched(engine, dies=True, retries=1, retry_delay=1)
    engine.go()
    result = result_of(engine, number)["t"]
    assert (result.value, result.tries, len(Cluster.jobs)) == ("result of 1", 2, 1)
    assert "Job 1 is there already; going on with it." in result.log


def test_a_job_is_stopped_with_its_task_and_begins_anew_when_that_is_cleared(engine: Engine) -> None:
    number = launched(engine, looks=3)
    engine.go(by_hand=["t"])
    (instance,) = engine.states(number)[1]
    engine.clear([instance.id])
    engine.go()
    assert Cluster.jobs[1][-1] == "looked"
    assert "cancelled" in Cluster.jobs[1]
    assert result_of(engine, number)["t"].value == "result of 2"
    engine.clear([instance.id])
    engine.go()
    assert result_of(engine, number)["t"].value == "result of 3"
    assert result_of(engine, number)["t"].state is TaskState.SUCCESS
