"""Mapping over sets of arguments: each instance gets a dict of its own."""

from bide import DAG, task
from bide.operators.bash import BashOperator

with DAG("mapping_kwargs", schedule=None, tags=["example"]):

    @task
    def send(address: str, greeting: str = "Hello") -> str:
        return f"{greeting} {address}"

    send.expand_kwargs([{"address": "ada"}, {"address": "bob", "greeting": "Hi"}])

    @task
    def jobs() -> list[dict[str, object]]:
        return [
            {"bash_command": "echo $WHO", "env": {"WHO": "first"}},
            {"bash_command": "exit 99"},
        ]

    BashOperator.partial(task_id="run_job", append_env=True).expand_kwargs(jobs())
