"""Elements that are changed, left out, put side by side or behind one another before a task is mapped over them."""

from bide import DAG, task
from bide.exceptions import AirflowSkipException

with DAG("mapping_transformed", schedule=None, tags=["example"]):

    @task
    def names() -> list[str]:
        return ["orders.csv", "notes.txt", "customers.csv"]

    @task
    def sizes() -> list[int]:
        return [10, 20]

    @task
    def show(thing: object) -> str:
        return str(thing)

    def only_csv(name: str) -> str:
        """Leave out what is no table: the instance for it is skipped."""
        if not name.endswith(".csv"):
            raise AirflowSkipException(f"{name} is no table.")
        return name.removesuffix(".csv")

    named, sized = names(), sizes()
    show.override(task_id="changed").expand(thing=named.map(only_csv))
    show.override(task_id="side_by_side").expand(thing=named.zip(sized))
    show.override(task_id="filled_up").expand(thing=named.zip(sized, fillvalue=0))
    show.override(task_id="one_after_the_other").expand(thing=named.concat(sized))
