"""A dict that is taken apart: with `multiple_outputs` each of its keys can be passed on alone."""

from bide import DAG, task

with DAG("multiple_outputs", schedule=None, tags=["example"]):

    @task(multiple_outputs=True)
    def measure() -> dict[str, float]:
        return {"width": 3.0, "height": 4.0}

    @task
    def area(width: float, height: float) -> float:
        return width * height

    @task
    def outline(measures: dict[str, float]) -> float:
        return 2 * sum(measures.values())

    measured = measure()
    area(measured["width"], measured["height"])
    outline(measured)
