"""What operators derive from that start a job in some other system and wait for its end."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from bide.authoring import BaseOperator, Context, OperatorArguments, recipe_of
from bide.exceptions import TaskError, TaskFailed
from bide.triggers.job import RUNNING, JobTrigger

JobState = Literal["running", "done", "failed"]
KEPT = "kept.job_id"
"""XComs whose keys begin with `kept.` outlive a try."""


class JobOperator(BaseOperator):
    """Starts a job, lets a trigger wait for it, and returns its result. A class of your own says how.

    The job's id is stored before anything waits. Should the worker die, or the try be repeated, the next leg looks for
    the job first, and goes on with it if it is still running or done; only otherwise it starts another one. When
    somebody stops the task, the job is cancelled. `status` and `cancel` are called in other processes too: they know
    the arguments of the operator, each under its name, and nothing else of it.
    """

    def __init__(self, *, poke_interval: float = 30, **kwargs: Unpack[OperatorArguments]) -> None:
        super().__init__(**kwargs)
        self.poke_interval = poke_interval
        self._job_id: Any = None

    def submit(self, context: Context) -> Any:
        """Start the job and return its id."""
        raise TaskFailed(f"{type(self).__name__} has no method submit(self, context), so it has no job to start.")

    def status(self, job_id: Any) -> JobState:
        """Tell how a job stands; one that nobody knows any more has failed. It may block."""
        raise TaskFailed(f"{type(self).__name__} has no method status(self, job_id).")

    def result(self, job_id: Any, context: Context) -> Any:
        """Return what the task returns when the job is done."""
        return job_id

    def cancel(self, job_id: Any) -> None:
        """Stop a job. It may have ended already."""

    def execute(self, context: Context) -> Any:
        """Find the job or start it, and wait for it."""
        job_id = context["ti"].xcom_pull(key=KEPT)
        state = None if job_id is None else self.status(job_id)
        if state not in (RUNNING, "done"):
            job_id = self.submit(context)
            context["ti"].xcom_push(KEPT, job_id)
            self.log.info("Job %s was started.", job_id)
            self._job_id = job_id
            state = self.status(job_id)
        else:
            self.log.info("Job %s is there already; going on with it.", job_id)
        if state == RUNNING:
            trigger = JobTrigger(recipe_of(self), job_id, poke_interval=self.poke_interval)
            self.defer(trigger=trigger, method_name="execute_complete", kwargs={"job_id": job_id})
        return self.execute_complete(context, job_id, state)

    def execute_complete(self, context: Context, job_id: Any, event: Any) -> Any:
        """Go on when the job has ended."""
        if event != "done":
            context["ti"].xcom_push(KEPT, None)
            raise TaskError(f"Job {job_id} has failed.")
        result = self.result(job_id, context)
        # Who clears the task wants a new job.
        context["ti"].xcom_push(KEPT, None)
        return result

    def on_kill(self) -> None:
        """Stop the job that this leg has started."""
        if self._job_id is not None:
            self.cancel(self._job_id)
