"""First steps: three commands in an order, every day.

`ds` is the day that a run is about. Every argument in `default_args` holds for all tasks that take it.
"""

from datetime import timedelta

import pendulum

from bide import DAG
from bide.operators.bash import BashOperator

with DAG(
    "first_steps",
    description="Three commands, one after the other",
    schedule="@daily",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    default_args={"owner": "data", "retries": 2, "retry_delay": timedelta(minutes=1)},
    tags=["example", "start here"],
    doc_md=__doc__,
):
    today = BashOperator(task_id="print_the_day", bash_command="echo {{ ds }}")

    nothing = BashOperator(task_id="rest_a_little", bash_command="sleep 0.01", retries=0)

    week = BashOperator(
        task_id="count_through_the_week",
        bash_command="""
            {% for number in range(3) %}
            echo {{ macros.ds_add(ds, number) }}
            {% endfor %}
        """,
        doc_md="Templates know loops, and macros for dates.",
    )

    today >> [nothing, week]
