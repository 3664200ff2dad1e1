"""What DAG files written for Airflow ask beside the ordinary: notifiers, conditions, facts about the try."""

from typing import Any

import pytest

from bide import DAG, BaseNotifier, Context, get_parsing_context, task
from bide.errors import PlanError
from bide.testing import Engine
from tests.testing.test_semantics import finished


class Chat(BaseNotifier):
    """Tells a list."""

    template_fields = ("text",)

    def __init__(self, told: list[str], text: str) -> None:
        self.told, self.text = told, text

    def notify(self, context: Context) -> None:
        """Tell it."""
        self.log.info("telling %s", self.text)
        self.told.append(self.text)


def test_a_notifier_has_its_templates_rendered_anew_for_each_call(engine: Engine) -> None:
    told: list[str] = []
    with DAG("told", schedule=None, on_failure_callback=Chat(told, "{{ dag.dag_id }} {{ reason }}")) as dag:

        @task(on_failure_callback=Chat(told, "{{ ti.task_id }}[{{ ti.map_index }}] {{ ti.state }}: {{ exception }}"))
        def fails(number: int) -> None:
            raise ValueError(number)

        fails.expand(number=[1, 2])
    result = finished(engine, dag)
    assert told == ["fails[0] failed: ValueError: 1", "fails[1] failed: ValueError: 2", "told task_failure"]
    assert "telling fails[0] failed" in result["fails", 0].log


def test_a_notifier_that_cannot_tell_anything_says_so(engine: Engine) -> None:
    with DAG("mute", schedule=None) as dag:

        @task(on_success_callback=BaseNotifier())
        def works() -> None: ...

        works()
    assert "BaseNotifier has no method notify(self, context)" in finished(engine, dag)["works"].log


def test_a_condition_decides_just_before_a_task_whether_it_runs(engine: Engine) -> None:
    began: list[str] = []

    def is_second(context: Context) -> bool:
        return context["ti"].map_index == 1

    with DAG("conditions", schedule=None, params={"day": "sunday"}) as dag:

        @task.run_if(lambda context: context["params"]["day"] == "monday", "only on mondays")
        @task
        def only_on_mondays() -> None: ...

        @task.skip_if(lambda context: context["params"]["day"] == "monday")
        @task(pre_execute=lambda context: began.append(context["ti"].task_id))
        def not_on_mondays() -> int:
            return 1

        @task.skip_if(is_second)
        @task.bash
        def each(number: int) -> str:
            return f"echo {number}"

        only_on_mondays()
        not_on_mondays()
        each.expand(number=[1, 2, 3])
    result = finished(engine, dag)
    assert [one.state for one in result.tasks] == ["skipped", "success", "success", "skipped", "success"]
    assert "Skipped: only on mondays" in result["only_on_mondays"].log
    assert began == ["not_on_mondays"]


def test_a_condition_stands_above_a_task() -> None:
    def plain() -> None: ...

    with pytest.raises(PlanError, match="stand above @task, not below it"):
        task.run_if(bool)(plain)  # type: ignore[arg-type]


def test_a_try_knows_where_it_runs_and_how_its_log_is_read(engine: Engine) -> None:
    with DAG("facts", schedule=None) as dag:

        @task(queue="here")
        def known(ti: Any = None, dag_run: Any = None) -> list[Any]:
            assert ti.hostname
            assert dag_run.run_after == dag_run.logical_date
            return [ti.operator, ti.queue, ti.pool, ti.log_url.split()]

        known()
    result = finished(engine, dag)
    command = ["bide", "tasks", "logs", "facts", result.run_id, "known"]
    assert result["known"].value == ["@task", "here", "default_pool", command]
    assert (get_parsing_context().dag_id, get_parsing_context().task_id) == (None, None)
