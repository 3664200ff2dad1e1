"""Putting many tasks in order: lists, chains, crosses and labels."""

from bide import DAG, Label, chain, chain_linear, cross_downstream
from bide.operators.empty import EmptyOperator

with DAG("complex_order", schedule=None, tags=["example"]):

    def tasks(*names: str) -> list[EmptyOperator]:
        """Make some tasks."""
        return [EmptyOperator(task_id=name) for name in names]

    start, end = tasks("start", "end")
    extracts = tasks("extract_a", "extract_b")
    cleans = tasks("clean_a", "clean_b")
    joins = tasks("join_left", "join_right")
    reports = tasks("daily", "weekly", "monthly")

    # One after the other; of two lists each with its partner.
    chain(start, extracts, cleans)

    # Each with each.
    cross_downstream(cleans, joins)

    # As chain, but of two lists each with each.
    chain_linear(joins, reports, end)

    # A word on an arrow.
    start >> Label("if all else fails") >> end
