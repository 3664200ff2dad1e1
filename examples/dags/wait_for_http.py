"""Waiting for a web service: "not found" means not yet, and a function looks at the answer."""

import httpx

from bide import DAG
from bide.operators.empty import EmptyOperator
from bide.sensors.http import HttpSensor


def is_ready(response: httpx.Response) -> bool:
    """Look at the answer of the service."""
    return bool(response.json()["status"] == "ready")


with DAG("wait_for_http", schedule="@hourly", tags=["example"]):
    wait = HttpSensor(
        task_id="wait",
        http_conn_id="example_api",
        endpoint="status/{{ ds }}",
        response_check=is_ready,
        poke_interval=5,
        timeout=600,
        exponential_backoff=True,
        max_wait=120,
    )

    wait >> EmptyOperator(task_id="fetch")
