"""A job in some other system: started once, waited for without a worker, stopped when its task is stopped."""

import pendulum

from bide import DAG, Context, Variable
from bide.operators.job import JobOperator, JobState


class PrintJob(JobOperator):
    """Prints something. The printer is a variable here; `status` and `cancel` may block, they run in threads."""

    def __init__(self, *, pages: int, **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]
        self.pages = pages

    def submit(self, context: Context) -> str:
        Variable.set("example_printed", "0")
        return f"job of {context['run_id']}"

    def status(self, job_id: str) -> JobState:
        printed = Variable.get("example_printed")
        if printed == "cancelled":
            return "failed"
        Variable.set("example_printed", str(int(printed) + 10))
        return "done" if int(printed) + 10 >= self.pages else "running"

    def result(self, job_id: str, context: Context) -> str:
        return f"{job_id}: {self.pages} pages"

    def cancel(self, job_id: str) -> None:
        Variable.set("example_printed", "cancelled")


with DAG("defer_job", schedule=None, start_date=pendulum.datetime(2026, 1, 1, tz="UTC"), tags=["example"]):
    PrintJob(task_id="print", pages=50, poke_interval=60)
