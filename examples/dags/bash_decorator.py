"""A command that a function puts together."""

from bide import DAG, task

with DAG("bash_decorator", schedule=None, tags=["example"]):

    @task
    def folders() -> list[str]:
        return ["raw", "clean"]

    @task.bash
    def make(names: list[str]) -> str:
        # Each command starts in an empty folder that is gone when it has ended.
        return f"mkdir {' '.join(names)} && ls | tr '\\n' ' '"

    @task.bash(env={"DAY": "{{ ds_nodash }}"}, append_env=True)
    def mark(made: str) -> str:
        return f"echo {made} on $DAY"

    mark(make(folders()))
