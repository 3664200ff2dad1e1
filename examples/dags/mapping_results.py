"""Mapping over what a task returns: how many tasks there are turns out while the DAG runs."""

from bide import DAG, task

with DAG("mapping_results", schedule="@daily", tags=["example"]):

    @task
    def list_files(ds: str = "") -> list[str]:
        return [f"orders_{ds}_{part}.csv" for part in ("east", "west", "north")]

    @task(max_active_tis_per_dagrun=2, map_index_template="{{ file }}")
    def count_rows(file: str) -> dict[str, object]:
        return {"file": file, "rows": len(file)}

    @task
    def report(counts: list[dict[str, object]]) -> list[object]:
        return [count["file"] for count in counts]

    report(count_rows.expand(file=list_files()))
