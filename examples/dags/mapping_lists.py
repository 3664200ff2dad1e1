"""Mapping over lists: one task for each element, and one for all combinations of two lists."""

from bide import DAG, task
from bide.operators.bash import BashOperator

with DAG("mapping_lists", schedule=None, tags=["example"]):

    @task
    def power(base: int, exponent: int) -> int:
        return int(base**exponent)

    @task
    def add_up(numbers: list[int]) -> int:
        return sum(numbers)

    # The squares of three numbers, each in a task of its own, and their sum.
    add_up(power.partial(exponent=2).expand(base=[1, 2, 3]))

    # Six tasks: each number with each exponent.
    power.override(task_id="every_power").expand(base=[1, 2, 3], exponent=[2, 3])

    # Operators are mapped in the same way. Elements may be templates.
    BashOperator.partial(task_id="say").expand(bash_command=["echo one", "echo {{ ds }}"])
