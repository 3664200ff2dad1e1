"""What stands in double braces becomes a value of the run, and nothing else does."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bide.authoring.values import VALUES
from bide.model.messages import RunFacts
from bide.model.questions import GetPreviousRun
from tests.authoring.engine import Engine
from tests.authoring.world import DAY, NOW, dag_in, dags_in, failure, leg_of, returned

SHOW = """
    from bide import DAG, task
    with DAG("d", params={{"color": "red"}}{}):
        @task
        def show(given):
            return given
        show({!r})
"""


def rendered(template: Any, engine: Engine | None = None, more: str = "", **known: Any) -> Any:
    return returned(leg_of(dag_in(SHOW.format(more, template)), "show", engine, **known))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ ds }} {{ ds_nodash }}", "2026-03-01 20260301"),
        ("{{ ts }}", "2026-03-01T00:00:00+00:00"),
        ("{{ ts_nodash }} {{ ts_nodash_with_tz }}", "20260301T000000 20260301T000000+0000"),
        ("{{ logical_date.add(days=1).to_date_string() }}", "2026-03-02"),
        ("{{ data_interval_start }}", "2026-03-01 00:00:00+00:00"),
        ("{{ data_interval_end | string }}", "2026-03-02 00:00:00+00:00"),
        ("{{ dag.dag_id }}.{{ task.task_id }} {{ run_id }}", "d.show scheduled__2026-03-01"),
        ("{{ ti.task_id }} {{ task_instance.try_number }} {{ try_number }}", "show 1 1"),
        ("{{ task_instance_key_str }}", "d__show__scheduled__2026-03-01"),
        ("{{ dag_run.run_type }} {{ dag_run.conf }}", "scheduled {}"),
        ("{{ params.color }} {{ params['color'] }}", "red red"),
        ("{{ macros.ds_add(ds, 5) }} {{ macros.ds_add(ds, -1) }}", "2026-03-06 2026-02-28"),
        ("{{ macros.ds_format(ds, '%Y-%m-%d', '%d.%m.%y') }}", "01.03.26"),
        ("{{ (logical_date + macros.timedelta(hours=2)).hour }}", "2"),
        ("{{ macros.datetime(2026, 1, 2).year }} {{ macros.json.dumps([1]) }}", "2026 [1]"),
        ("{{ macros.uuid.UUID(int=0) }}", "00000000-0000-0000-0000-000000000000"),
        ("{{ 0 <= macros.random() < 1 }} {{ macros.time.gmtime(0).tm_year }}", "True 1970"),
        ("{{ macros.datetime_diff_for_humans(data_interval_end, data_interval_start) }}", "1 day after"),
        ("{{ start_date == ti.start_date }}", "True"),
        ("{% for n in [1, 2] %}{{ n }};{% endfor %}", "1;2;"),
        ("{% set n = 3 %}{{ n }}", "3"),
        ("{{ ti.get_template_context()['ds'] }}", "2026-03-01"),
        (["{{ ds }}", {"{{ ds }}": ("{{ ds }}", 1)}], ["2026-03-01", {"{{ ds }}": ("2026-03-01", 1)}]),
        ({"{{ ds }}"}, {"2026-03-01"}),
    ],
)
def test_the_usual_names_are_there(template: Any, expected: Any) -> None:
    assert rendered(template) == expected


def test_variables_and_connections_are_found_by_name() -> None:
    engine = Engine(
        variables={"city": "Bern", "sizes": '{"s": 1}'}, connections={"db": "postgres://me:secret@host:5433/data?a=b"}
    )
    assert rendered("{{ var.value.city }} {{ var.value.get('x', 'none') }}", engine) == "Bern none"
    assert rendered("{{ var.json.sizes.s }} {{ var.json.get('x', {'s': 2}).s }}", engine) == "1 2"
    assert rendered("{{ conn.db.host }}:{{ conn.db.port }} {{ conn.db.extra_dejson.a }}", engine) == "host:5433 b"
    assert rendered("{{ conn.get('x', 'none') }} {{ var.value['city'] }} {{ conn['db'].login }}", engine) == (
        "none Bern me"
    )


def test_the_run_before_this_one_is_only_asked_for_when_it_is_named() -> None:
    engine = Engine(
        previous=RunFacts(
            dag_id="d",
            run_id="before",
            run_type="scheduled",
            data_interval_start=DAY - timedelta(days=1),
            data_interval_end=DAY,
            start_date=DAY + timedelta(hours=1),
            end_date=DAY + timedelta(hours=2),
        )
    )
    assert rendered("{{ ds }}", engine) == "2026-03-01"
    assert engine.asked == []
    text = "{{ prev_data_interval_start_success.day }} {{ prev_data_interval_end_success.day }} "
    text += "{{ prev_start_date_success.hour }} {{ prev_end_date_success.hour }}"
    assert rendered(text, engine) == "28 1 1 2"
    assert engine.asked == [GetPreviousRun(dag_id="d", before=DAY, state="success")]
    assert rendered("{{ prev_start_date_success }}") == "None"


def test_a_run_without_a_logical_date_has_no_ds() -> None:
    dag = dag_in(SHOW.format("", "{{ ds }}"))
    outcome = leg_of(dag, "show", logical_date=None)
    assert failure(outcome) == "op_args: 'ds' is undefined: this run has no logical date."


def test_an_unknown_name_is_refused_with_the_near_one() -> None:
    dag = dag_in(SHOW.format("", "{{ dss }}"))
    assert failure(leg_of(dag, "show")) == "op_args: 'dss' is undefined; did you mean 'ds'?"


def test_a_broken_template_is_refused() -> None:
    dag = dag_in(SHOW.format("", "{{ ds"))
    assert "op_args: unexpected end of template" in failure(leg_of(dag, "show"))


def test_what_a_person_has_said_about_a_run_is_data() -> None:
    evil = "{{ macros.datetime }}"
    assert rendered("{{ dag_run.conf.name }} {{ params.color }}", conf={"name": evil, "color": evil}) == (
        f"{evil} {evil}"
    )


@pytest.mark.parametrize(
    "evil",
    ["{{ ''.__class__.__mro__ }}", "{{ ti.task.execute.__globals__ }}", "{{ dag.__init__ }}", "{{ range(10**9) }}"],
)
def test_a_text_that_was_put_together_from_a_run_cannot_leave_the_sandbox(evil: str) -> None:
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task.bash
            def say(dag_run):
                return "echo '" + dag_run.conf["name"] + "'"
            say()
    """)
    assert returned(leg_of(dag, "say", conf={"name": "Ada {{ 1 + 1 }}"})) == "Ada 2"
    outcome = leg_of(dag, "say", conf={"name": evil})
    assert "unsafe" in failure(outcome) or "Range too big" in failure(outcome)


def test_results_are_data_even_when_they_look_like_templates() -> None:
    engine = Engine()
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task
            def bad(): return "{{ 1 + 1 }}"
            @task
            def show(x, y): return [x, y]
            show(bad(), "{{ ti.xcom_pull(task_ids='bad') }}")
    """)
    leg_of(dag, "bad", engine)
    assert returned(leg_of(dag, "show", engine)) == ["{{ 1 + 1 }}", "{{ 1 + 1 }}"]


def test_a_result_in_an_f_string_is_fetched_when_it_is_rendered() -> None:
    engine = Engine()
    dag = dag_in("""
        from bide import DAG, task
        from bide.operators.bash import BashOperator
        with DAG("d"):
            @task
            def word(): return "hello"
            said = word()
            said >> BashOperator(task_id="show", bash_command=f"echo {said} world")
    """)
    leg_of(dag, "word", engine)
    assert returned(leg_of(dag, "show", engine)) == "hello world"


def test_literal_keeps_a_text_as_it_is() -> None:
    dag = dag_in("""
        from bide import DAG, literal, task
        with DAG("d"):
            @task
            def show(x): return x
            show(literal("{{ ds }}"))
    """)
    assert returned(leg_of(dag, "show")) == "{{ ds }}"


def test_templates_can_give_values_instead_of_texts() -> None:
    assert rendered("{{ [1, 2] }}", more=", render_template_as_native_obj=True") == [1, 2]
    assert rendered("{{ params }}", more=", render_template_as_native_obj=True") == {"color": "red"}
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task(render_template_as_native_obj=True)
            def show(x): return x
            show("{{ [ds] }}")
    """)
    assert returned(leg_of(dag, "show")) == ["2026-03-01"]


def test_authors_add_macros_filters_and_options_of_their_own() -> None:
    dag = dag_in("""
        import jinja2
        from bide import DAG, task
        with DAG(
            "d",
            user_defined_macros={"greet": lambda name: f"Hi {name}", "city": "Bern", "ds": "mine"},
            user_defined_filters={"shout": lambda text: text.upper()},
            template_undefined=jinja2.Undefined,
            jinja_environment_kwargs={"variable_start_string": "[["},
        ):
            @task
            def show(x): return x
            show("[[ greet(city) | shout }} [[ nobody }}. [[ ds }}")
    """)
    assert returned(leg_of(dag, "show")) == "HI BERN . 2026-03-01"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dags" / "scripts").mkdir(parents=True)
    (tmp_path / "dags" / "say.sh").write_text("echo {{ ds }}\n")
    (tmp_path / "dags" / "scripts" / "more.sh").write_text("echo more of {% include 'say.sh' %}")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "far.sh").write_text("echo far")
    return tmp_path


FILES = """
    from bide import DAG
    from bide.operators.bash import BashOperator
    from bide.operators.python import PythonOperator
    with DAG("d", template_searchpath=["scripts", {elsewhere!r}]):
        BashOperator(task_id="near", bash_command="say.sh")
        BashOperator(task_id="inner", bash_command="more.sh")
        BashOperator(task_id="far", bash_command="far.sh")
        BashOperator(task_id="gone", bash_command="gone.sh")
        BashOperator(task_id="not_a_file", bash_command="echo gone.sh ")
        PythonOperator(
            task_id="python",
            python_callable=lambda text, templates_dict: [text, templates_dict],
            templates_dict={{"a": "{{{{ ds }}}}"}},
            op_args=["say.sh"],
            templates_exts=[".sh"],
        )
"""


def test_files_of_templates_are_found_beside_the_dag_file_and_on_the_search_path(folder: Path) -> None:
    path = str(folder / "dags" / "d.py")
    dag = dags_in(FILES.format(elsewhere=str(folder / "elsewhere")), path, str(folder / "dags"))["d"]
    assert returned(leg_of(dag, "near")) == "2026-03-01"
    assert returned(leg_of(dag, "inner")) == "more of echo 2026-03-01"
    assert returned(leg_of(dag, "far")) == "far"
    assert returned(leg_of(dag, "not_a_file")) == "gone.sh"
    assert returned(leg_of(dag, "python")) == ["echo 2026-03-01", {"a": "2026-03-01"}]
    assert failure(leg_of(dag, "gone")) == (
        f"bash_command: there is no file 'gone.sh' in {folder}/dags or {folder}/dags/scripts or "
        f"{folder}/elsewhere. If it is no file, but only ends like one, put a blank behind it."
    )


def test_an_operator_prepares_its_templates_between_reading_and_rendering() -> None:
    dag = dag_in("""
        from bide import DAG, BaseOperator
        class Op(BaseOperator):
            template_fields = ("text",)
            def __init__(self, text, **kwargs):
                super().__init__(**kwargs)
                self.text = text
            def prepare_template(self):
                self.text = self.text.replace("DATE", "{{ ds }}")
            def execute(self, context):
                return [self.text, self.render_template("{{ run_id }}", context)]
        with DAG("d"):
            Op(task_id="t", text="on DATE")
    """)
    assert returned(leg_of(dag, "t")) == ["on 2026-03-01", "scheduled__2026-03-01"]
    assert vars(dag.get_task("t"))["text"] == "on DATE"


def test_a_templated_field_that_is_not_there_is_named() -> None:
    dag = dag_in("""
        from bide import DAG, BaseOperator
        class Op(BaseOperator):
            template_fields = ("text",)
        with DAG("d"):
            Op(task_id="t")
    """)
    assert failure(leg_of(dag, "t")) == "Op says that text is templated, but has no such attribute."


def test_dates_of_the_context_are_those_of_pendulum_and_can_be_returned() -> None:
    dag = dag_in("""
        from bide import DAG, task
        with DAG("d"):
            @task
            def dates(logical_date, data_interval_end, ti):
                assert logical_date.timezone_name == "UTC"
                return [logical_date, data_interval_end.add(hours=1), ti.start_date]
            dates()
    """)
    found = returned(leg_of(dag, "dates"))
    assert found == [DAY, DAY + timedelta(hours=25), NOW]
    assert {type(date).__module__.split(".")[0] for date in found} == {"pendulum"}
    assert json.loads(VALUES.encode(found))[0]["$"] == "pendulum:DateTime"
