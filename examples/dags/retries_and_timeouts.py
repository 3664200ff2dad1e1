"""What happens when something goes wrong: retries with growing pauses, limits in time, and giving up at once."""

from datetime import timedelta

from bide import DAG, task
from bide.exceptions import AirflowFailException
from bide.operators.bash import BashOperator

with DAG("retries_and_timeouts", schedule=None, dagrun_timeout=timedelta(hours=1), tags=["example"]):

    @task(
        retries=5,
        retry_delay=timedelta(seconds=10),
        retry_exponential_backoff=True,
        max_retry_delay=timedelta(minutes=5),
        retry_jitter=True,
    )
    def works_at_the_third_try(try_number: int = 0) -> str:
        # An argument with a name of the context is filled in; the default is there for type checkers.
        if try_number < 3:
            raise ConnectionError("The service is not there yet.")
        return f"try {try_number}"

    @task(retries=5)
    def has_no_chance() -> None:
        # Another try would not change anything, so there is none.
        raise AirflowFailException("The password is wrong.")

    limited = BashOperator(task_id="limited", bash_command="sleep 0.01", execution_timeout=timedelta(seconds=30))

    limited >> [works_at_the_third_try(), has_no_chance()]
