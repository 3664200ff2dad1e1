"""A task that lets only the latest run go on."""

from __future__ import annotations

from bide.authoring import BaseBranchOperator, Context, is_latest_run


class LatestOnlyOperator(BaseBranchOperator):
    """Skips the tasks right after it unless this run is the latest one that its schedule has. Manual runs go on."""

    ui_color = "#e9ffdb"

    def choose_branch(self, context: Context) -> list[str]:
        """Go on with everything or with nothing."""
        run = context["dag_run"]
        if run.run_type == "manual" or is_latest_run(run.dag_id, run.run_id):
            return list(self.downstream)
        self.log.info("A later run is due already, so this one stops here.")
        return []
