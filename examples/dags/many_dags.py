"""Many DAGs from one file: a loop makes one for each team."""

import pendulum

from bide import DAG
from bide.operators.bash import BashOperator

TEAMS = {"finance": "0 6 * * *", "logistics": "*/15 * * * *", "people": "@weekly"}

for team, schedule in TEAMS.items():
    with DAG(
        f"report_for_{team}",
        schedule=schedule,
        start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
        max_active_runs=1,
        tags=["example", team],
    ):
        collect = BashOperator(task_id="collect", bash_command=f"echo collecting for {team}")
        collect >> BashOperator(task_id="send", bash_command=f"echo sending to {team}")
