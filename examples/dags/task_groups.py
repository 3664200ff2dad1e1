"""Groups: tasks that belong together, put in order as a whole."""

from bide import DAG, TaskGroup
from bide.operators.bash import BashOperator
from bide.operators.empty import EmptyOperator

with DAG("task_groups", schedule=None, tags=["example"]):
    start = EmptyOperator(task_id="start")

    with TaskGroup("extract", tooltip="Fetch from all sources", default_args={"retries": 3}) as extract:
        for source in ("shop", "warehouse"):
            BashOperator(task_id=source, bash_command=f"echo fetching {source}")

    with TaskGroup("transform") as transform:
        clean = EmptyOperator(task_id="clean")
        with TaskGroup("join", group_display_name="Join all tables") as join:
            EmptyOperator(task_id="customers")
            EmptyOperator(task_id="products")
        clean >> join

    # Without the prefix ids must be unique by themselves.
    with TaskGroup("publish", prefix_group_id=False) as publish:
        EmptyOperator(task_id="publish_table") >> EmptyOperator(task_id="publish_report")

    start >> extract >> transform >> publish
