"""Templates that give values instead of texts."""

from bide import DAG, task

with DAG("native_values", schedule=None, render_template_as_native_obj=True, params={"ids": [3, 5]}, tags=["example"]):

    @task
    def double(ids: list[int]) -> list[int]:
        return [2 * each for each in ids]

    # Not the text "[3, 5]", but the list.
    double("{{ params.ids }}")  # type: ignore[arg-type]
