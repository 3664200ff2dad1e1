"""Variables and connections: asked for while a task runs, never while the file is read."""

from bide import DAG, BaseHook, Connection, Variable, task

with DAG("variables_and_connections", schedule=None, tags=["example"]):

    @task
    def count_up() -> int:
        count = int(Variable.get("example_count", default="0")) + 1
        Variable.set("example_count", count, description="How often this has run.")
        return count

    @task
    def describe() -> str:
        limits = Variable.get("example_limits", default={"rows": 10}, deserialize_json=True)
        return f"at most {limits['rows']} rows"

    @task
    def address() -> str:
        connection: Connection = BaseHook.get_connection("example_db")
        return f"{connection.conn_type} at {connection.host}, {connection.extra_dejson.get('sslmode', 'no ssl')}"

    @task
    def in_template(text: str) -> str:
        return text

    count_up() >> describe() >> address()
    in_template("{{ var.value.get('example_city', 'nowhere') }} {{ conn.example_db.schema }}")
