"""A function as a sensor: it is called again and again until it says yes, and may hand on what it has found."""

from bide import DAG, PokeReturnValue, get_current_context, task

with DAG("sensor_function", schedule=None, tags=["example"]):

    @task.sensor(poke_interval=0.01, timeout=60, mode="poke")
    def wait_for_rows() -> PokeReturnValue:
        ti = get_current_context()["ti"]
        # It remembers how often it has looked in an XCom of its own.
        looks = 1 + ti.xcom_pull(key="looks", default=0)
        ti.xcom_push(key="looks", value=looks)
        return PokeReturnValue(is_done=looks >= 3, xcom_value={"rows": 100 * looks})

    @task
    def report(found: dict[str, int]) -> str:
        return f"{found['rows']} rows"

    report(wait_for_rows())
