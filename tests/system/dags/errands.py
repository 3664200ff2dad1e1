"""DAGs for tests on real processes. What a task does is written down in the folder that the conf of its run names."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

from noting import AGAIN, called, note  # type: ignore[import-not-found]  # the folder of DAG files is on the path

from bide import DAG, get_current_context, task
from bide.exceptions import TaskRescheduled
from bide.operators.empty import EmptyOperator
from bide.sensors.python import PythonSensor

QUEUES = ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")


def first_try() -> bool:
    """Say whether this is the first try of its task."""
    return bool(get_current_context()["ti"].try_number == 1)


def until(file: Path) -> None:
    """Wait until there is a file."""
    never = Event()
    while not file.exists():
        never.wait(0.01)


def looked_before() -> bool:
    """Say whether this task has looked before."""
    ti, folder = get_current_context()["ti"], note("looks")
    mark = folder / f"looked.{ti.run_id}.{ti.task_id}"
    if mark.exists():
        return True
    mark.touch()
    return False


with DAG(
    "errand",
    schedule=None,
    max_active_runs=4,
    max_active_tasks=5,
    default_args=AGAIN,
    on_success_callback=called,
    on_failure_callback=called,
):

    @task
    def work(number: int = 0) -> int:
        note("begin")
        note("end")
        return number

    @task.branch
    def choose() -> str:
        note("begin")
        note("end")
        return "left"

    @task
    def numbers() -> list[int]:
        note("begin")
        note("end")
        return [1, 2, 3]

    @task
    def flaky() -> None:
        note("begin")
        if first_try():
            raise RuntimeError("not this time")
        note("end")

    begin = work.override(task_id="begin", max_active_tis_per_dag=2)()
    left = work.override(task_id="left")()
    join = EmptyOperator(task_id="join", trigger_rule="none_failed_min_one_success")
    begin >> choose() >> [left, EmptyOperator(task_id="right")] >> join
    each = work.override(task_id="each", pool="narrow").expand(number=numbers())
    look = PythonSensor(task_id="look", python_callable=looked_before, mode="reschedule", poke_interval=0.2)
    begin >> [each, flaky(), look] >> join
    join >> work.override(task_id="last")()


with DAG(
    "daily",
    schedule="@daily",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    end_date=datetime(2026, 1, 5, tzinfo=UTC),
    catchup=True,
    is_paused_upon_creation=True,
):
    EmptyOperator(task_id="first") >> EmptyOperator(task_id="second")


with DAG("queues", schedule=None, max_active_tasks=100, max_active_runs=100, default_args=AGAIN):

    @task
    def errand() -> None:
        context = get_current_context()
        folder, what = note("begin"), context["dag_run"].conf["do"].get(context["ti"].task_id, "end")
        if what == "raise" and first_try():
            raise RuntimeError("not this time")
        if what == "wait" and first_try():
            until(folder / "go")
        if what == "look" and not looked_before():
            raise TaskRescheduled(datetime.now(UTC) + timedelta(seconds=0.1))
        note("end")

    for name in QUEUES:
        errand.override(task_id=name, queue=name)()
