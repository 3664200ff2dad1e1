"""Commands in bash: environment, exit codes, and scripts in files of their own."""

from bide import DAG
from bide.operators.bash import BashOperator

with DAG(
    "bash_commands",
    schedule=None,
    params={"team": "finance", "loud": True},
    template_searchpath="scripts",
    tags=["example"],
):
    # Values are safest in the environment: bash does not read them as a part of the command.
    greet = BashOperator(
        task_id="greet",
        bash_command='echo "Hello, $NAME"',
        env={"NAME": "{{ params.team }}"},
        append_env=True,
    )

    # What ends in .sh is the name of a file, found beside this one or on the template_searchpath.
    report = BashOperator(task_id="report", bash_command="report.sh")

    # The last line of output is what the task returns.
    count = BashOperator(task_id="count", bash_command="printf 'a\nb\nc\n' | wc -l", output_processor=int)

    # Exit code 99 means: there is nothing to do.
    nothing_today = BashOperator(task_id="nothing_today", bash_command="exit 99")

    greet >> report >> count >> nothing_today
