"""Who goes first and how many at once: pools, weights and limits.

The pool has to be there: `bide pools set example_database 4 "Connections to the database"`.
"""

from bide import DAG, WeightRule
from bide.operators.bash import BashOperator

with DAG("pools_and_priorities", schedule=None, max_active_tasks=8, max_active_runs=2, tags=["example"]):
    important = BashOperator(
        task_id="important",
        bash_command="echo first",
        pool="example_database",
        priority_weight=10,
        weight_rule=WeightRule.ABSOLUTE,
    )

    # It takes two of the four places at once.
    heavy = BashOperator(task_id="heavy", bash_command="echo much work", pool="example_database", pool_slots=2)

    # However many runs there are, only one of these runs at a time.
    alone = BashOperator(task_id="alone", bash_command="echo alone", max_active_tis_per_dag=1, queue="default")

    important >> heavy >> alone
