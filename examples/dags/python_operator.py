"""The operator behind `@task`: for functions that were written elsewhere."""

from typing import Any

from bide import DAG
from bide.operators.python import PythonOperator


def greet(greeting: str, name: str) -> str:
    """Know nothing of tasks."""
    return f"{greeting}, {name}"


def describe(run_id: str, logical_date: Any, **context: Any) -> str:
    """Take from the context what is named; `**context` has all the rest."""
    return f"{context['ti'].task_id} of {run_id}, {logical_date.format('dddd')}"


def fill(templates_dict: dict[str, str]) -> list[str]:
    """Take texts that were templates."""
    return sorted(templates_dict.values())


with DAG("python_operator", schedule="@daily", tags=["example"]):
    (
        PythonOperator(task_id="greet", python_callable=greet, op_args=["Hello"], op_kwargs={"name": "{{ ds }}"})
        >> PythonOperator(task_id="describe", python_callable=describe)
        >> PythonOperator(
            task_id="fill",
            python_callable=fill,
            templates_dict={"from": "{{ data_interval_start }}", "to": "{{ data_interval_end }}"},
        )
    )
