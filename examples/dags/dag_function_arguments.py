"""The arguments of a function with `@dag` are params of its runs."""

from bide import dag, task


@dag(dag_id="dag_function_arguments", schedule=None, tags=["example"])
def make(city: str = "Bern", days: int = 3) -> None:
    """Shows a forecast."""

    @task
    def forecast(place: str, length: int) -> str:
        return f"{place}: sunny for {length} days"

    forecast(city, days)


make()
