"""Waiting for a file. In mode "reschedule" no worker is held between two looks."""

from datetime import timedelta

from bide import DAG
from bide.operators.bash import BashOperator
from bide.sensors.filesystem import FileSensor

with DAG("wait_for_file", schedule="@daily", tags=["example"]):
    wait = FileSensor(
        task_id="wait",
        filepath="orders_{{ ds }}.csv",
        fs_conn_id="example_folder",
        mode="reschedule",
        poke_interval=timedelta(seconds=30),
        timeout=timedelta(hours=6),
        soft_fail=True,
    )

    wait >> BashOperator(task_id="load", bash_command="echo loading orders_{{ ds }}.csv")
