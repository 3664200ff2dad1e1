"""Templates: names, macros and filters, the usual ones and one's own."""

import pendulum

from bide import DAG, literal, task


def quarter(date: pendulum.DateTime) -> str:
    """Name the quarter of a date."""
    return f"Q{date.quarter}"


def shout(text: str) -> str:
    """Make a text loud."""
    return f"{text.upper()}!"


with DAG(
    "templates_and_macros",
    schedule="@monthly",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    user_defined_macros={"quarter": quarter, "company": "Acme"},
    user_defined_filters={"shout": shout},
    tags=["example"],
):

    @task
    def show(text: str) -> str:
        return text

    show.override(task_id="dates")("{{ ds }} = {{ ds_nodash }}, a week later {{ macros.ds_add(ds, 7) }}")
    show.override(task_id="interval")("{{ data_interval_start.format('MMMM') }} to {{ data_interval_end | string }}")
    show.override(task_id="own_names")("{{ company | shout }} {{ quarter(logical_date) }}")
    show.override(task_id="run")("{{ dag.dag_id }}.{{ ti.task_id }}, try {{ ti.try_number }}")
    show.override(task_id="not_a_template")(literal("{{ this stays as it is }}"))
