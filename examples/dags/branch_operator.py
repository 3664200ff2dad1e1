"""A branch operator of one's own. It may also choose a group, and so all tasks in it."""

from bide import DAG, BaseBranchOperator, Context, TaskGroup
from bide.operators.empty import EmptyOperator


class WeekendBranch(BaseBranchOperator):
    """Goes one way on weekends and another way on all other days."""

    def choose_branch(self, context: Context) -> str:
        """Look at the day that the run is about."""
        date = context["logical_date"]
        return "weekend" if date is not None and date.isoweekday() > 5 else "workday"


with DAG("branch_operator", schedule="@daily", tags=["example"]):
    with TaskGroup("weekend") as weekend:
        EmptyOperator(task_id="sleep_in") >> EmptyOperator(task_id="bake")

    workday = EmptyOperator(task_id="workday")

    WeekendBranch(task_id="which_day") >> [weekend, workday]
