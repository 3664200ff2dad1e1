"""A task that does nothing, to put others in order."""

from typing import Any

from bide.authoring import BaseOperator, Context


class EmptyOperator(BaseOperator):
    """Does nothing. It is over as soon as its turn comes, without a worker."""

    is_empty = True
    ui_color = "#e8f7e4"

    def execute(self, context: Context) -> Any:
        """Do nothing; only a task with callbacks or hooks gets here."""
