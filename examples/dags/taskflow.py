"""Functions as tasks: what one returns is passed to the next, and that puts them in order too."""

import pendulum

from bide import dag, task


@dag(schedule="@daily", start_date=pendulum.datetime(2026, 1, 1, tz="UTC"), tags=["example", "start here"])
def taskflow() -> None:
    """Adds up what was sold."""

    @task
    def extract() -> dict[str, float]:
        return {"apples": 4.5, "pears": 2.25, "plums": 1.25}

    @task
    def add_up(sold: dict[str, float]) -> float:
        return sum(sold.values())

    @task
    def report(total: float) -> str:
        return f"Sold for {total:.2f}"

    report(add_up(extract()))


taskflow()
