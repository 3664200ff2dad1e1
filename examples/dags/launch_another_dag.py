"""Launching another DAG with a configuration, and waiting until its run has ended."""

from bide import DAG
from bide.operators.bash import BashOperator
from bide.operators.trigger_dagrun import TriggerDagRunOperator

with DAG("launch_another_dag", schedule=None, tags=["example"]):
    launch = TriggerDagRunOperator(
        task_id="launch",
        trigger_dag_id="params",
        trigger_run_id="launched_by_{{ run_id }}",
        conf={"name": "{{ dag.dag_id }}", "times": 1},
        wait_for_completion=True,
        poke_interval=1,
    )

    launch >> BashOperator(
        task_id="say_which",
        bash_command="echo {{ ti.xcom_pull(task_ids='launch', key='trigger_run_id') }}",
    )
