"""XComs by hand: values under keys of one's own, pushed while the task runs and pulled by name."""

from typing import Unpack

from bide import DAG, Context, task
from bide.operators.bash import BashOperator

with DAG("xcoms", schedule=None, tags=["example"]):

    @task
    def push(**context: Unpack[Context]) -> str:
        ti = context["ti"]
        ti.xcom_push(key="color", value="green")
        ti.xcom_push(key="sizes", value=("s", "m", "l"))  # comes back as the tuple that it is
        return "returned"

    @task
    def pull(**context: Unpack[Context]) -> list[object]:
        ti = context["ti"]
        return [
            ti.xcom_pull(task_ids="push"),
            ti.xcom_pull(task_ids="push", key="color"),
            ti.xcom_pull(task_ids="push", key="sizes"),
            ti.xcom_pull(task_ids="push", key="price", default=0),
            ti.xcom_pull(task_ids=["push", "nobody"]),
        ]

    in_template = BashOperator(
        task_id="in_template",
        bash_command="echo {{ ti.xcom_pull(task_ids='push', key='color') }}",
    )

    push() >> [pull(), in_template]
