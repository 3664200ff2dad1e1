"""A function that makes a group: what it takes and returns connects the tasks inside with those outside."""

from bide import DAG, task, task_group

with DAG("task_group_function", schedule=None, tags=["example"]):

    @task
    def numbers() -> list[int]:
        return [3, 1, 2]

    @task
    def sort(values: list[int]) -> list[int]:
        return sorted(values)

    @task
    def reverse(values: list[int]) -> list[int]:
        return values[::-1]

    @task_group
    def prepare(values: list[int]) -> list[int]:
        """Brings values into an order."""
        return reverse(sort(values))

    @task
    def first(values: list[int]) -> int:
        return values[0]

    given = numbers()
    first(prepare(given))
    first(prepare.override(group_id="prepare_again")(given))
