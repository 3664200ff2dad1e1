"""Every example is a DAG that can be run, and does what it says."""

import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from bide.authoring.collect import collect
from bide.authoring.dag import DAG
from bide.authoring.plan import to_plan
from bide.children.callbacks import run_callback
from bide.model.check import check
from bide.model.messages import RunCallback, RunFacts
from bide.model.plan import Callback, decode_plan, encode_plan
from bide.model.states import TaskState
from tests.authoring.engine import Engine, OtherRun
from tests.authoring.world import DAY, Walk, order_for
from tests.meta.tree import ROOT

FOLDER = ROOT / "examples" / "dags"
FILES = sorted(FOLDER.glob("*.py"))
SKIPPED, FAILED, UPSTREAM = TaskState.SKIPPED, TaskState.FAILED, TaskState.UPSTREAM_FAILED


def dags_of(path: Path) -> dict[str, DAG]:
    return collect(str(path), str(FOLDER), path.read_text(encoding="utf-8")).dags


def dag_of(dag_id: str, file: str = "") -> DAG:
    return dags_of(FOLDER / f"{file or dag_id}.py")[dag_id]


def walk(dag_id: str, engine: Engine | None = None, file: str = "", **known: Any) -> Walk:
    return Walk(dag_of(dag_id, file), engine or Engine(), known)


def unusual(walked: Walk) -> dict[str, TaskState]:
    """Return the tasks that have not simply succeeded."""
    ends = {task_id: states[-1] for task_id, states in walked.states.items()}
    return {task_id: state for task_id, state in ends.items() if state is not TaskState.SUCCESS}


def test_there_are_many_and_no_two_dags_have_one_name() -> None:
    ids = [dag_id for path in FILES for dag_id in dags_of(path)]
    assert len(FILES) >= 25
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_example_becomes_a_plan_that_can_be_run(path: Path) -> None:
    dags = dags_of(path)
    assert dags
    for dag in dags.values():
        plan = to_plan(dag)
        check(plan)
        assert plan.tasks
        assert "example" in plan.tags
        assert decode_plan(encode_plan(plan)) == plan


@pytest.mark.parametrize(
    ("dag_id", "values"),
    [
        ("first_steps", {"print_the_day": "2026-03-01", "count_through_the_week": "2026-03-03"}),
        ("taskflow", {"report": "Sold for 8.00"}),
        ("multiple_outputs", {"area": 12.0, "outline": 14.0}),
        ("bash_decorator", {"mark": "clean raw on 20260301"}),
        ("python_operator", {"greet": "Hello, 2026-03-01", "describe": "describe of scheduled__2026-03-01, Sunday"}),
        ("mapping_lists", {"add_up": 14}),
        ("mapping_results", {"report": [f"orders_2026-03-01_{part}.csv" for part in ("east", "west", "north")]}),
        ("task_group_function", {"first": 3, "first__1": 3}),
        ("dag_function_arguments", {"forecast": "Bern: sunny for 3 days"}),
        (
            "templates_and_macros",
            {
                "dates": "2026-03-01 = 20260301, a week later 2026-03-08",
                "interval": "March to 2026-03-02 00:00:00+00:00",
                "own_names": "ACME! Q1",
                "run": "templates_and_macros.run, try 1",
                "not_a_template": "{{ this stays as it is }}",
            },
        ),
        ("native_values", {"double": [6, 10]}),
        ("xcoms", {"pull": ["returned", "green", ("s", "m", "l"), 0, ["returned", None]], "in_template": "green"}),
        ("sensor_function", {"report": "300 rows"}),
        ("pools_and_priorities", {"alone": "alone"}),
        ("depends_on_past", {"add_to_yesterday": "this is the first day"}),
        ("own_operator", {"second": "You said, Good morning, own_operator!!"}),
        ("task_groups", {"extract.shop": "fetching shop"}),
        ("complex_order", {}),
        ("callbacks", {"works": 1, "is_prepared": 2}),
    ],
)
def test_the_examples_that_need_nothing_else_run_to_their_end(dag_id: str, values: dict[str, Any]) -> None:
    walked = walk(dag_id)
    assert walked.failures == {}
    assert unusual(walked) == {}
    assert {task_id: walked.value(task_id) for task_id in values} == values


@pytest.mark.parametrize(
    ("dag_id", "expected"),
    [
        ("bash_commands", {"nothing_today": SKIPPED}),
        ("branching", {"load_row_by_row": SKIPPED}),
        ("conditions", {"load_in_bulk": SKIPPED}),
        ("branch_operator", {"workday": SKIPPED}),
        ("short_circuit", {"send_alarm": SKIPPED, "a": SKIPPED, "b": SKIPPED}),
        ("latest_only", {}),
        (
            "trigger_rules",
            {"is_skipped": SKIPPED, "fails": FAILED, "all_must_work": SKIPPED},
        ),
        ("mapping_kwargs", {"run_job": SKIPPED}),
        ("skipping", {"load": SKIPPED, "bill": SKIPPED}),
        ("retries_and_timeouts", {"works_at_the_third_try": FAILED, "has_no_chance": FAILED}),
    ],
)
def test_what_is_skipped_or_fails_is_what_the_example_says(dag_id: str, expected: dict[str, TaskState]) -> None:
    assert unusual(walk(dag_id)) == expected


def test_branches_go_the_other_way_when_the_run_is_another() -> None:
    assert unusual(walk("branching", conf={"rows": 5})) == {"load_in_bulk": SKIPPED}
    assert set(unusual(walk("branching", conf={"rows": 0}))) == {"load_in_bulk", "load_row_by_row", "done"}
    assert set(unusual(walk("branch_operator", logical_date=DAY + timedelta(days=1)))) == {
        "weekend.sleep_in",
        "weekend.bake",
    }
    assert unusual(walk("latest_only", Engine(latest=False))) == {"send_newsletter": SKIPPED}
    assert unusual(walk("skipping", conf={"orders": ["one"]})) == {}


def test_elements_are_changed_left_out_and_put_together() -> None:
    walked = walk("mapping_transformed")
    assert [str(state) for state in walked.states["changed"]] == ["success", "skipped", "success"]
    assert walked.value("changed", 2) == "customers"
    assert walked.value("side_by_side", 1) == "('notes.txt', 20)"
    assert walked.value("filled_up", 2) == "('customers.csv', 0)"
    assert walked.value("one_after_the_other", 4) == "20"
    assert len(walked.states["one_after_the_other"]) == 5


def test_scripts_are_templates_with_the_params_of_the_run() -> None:
    assert walk("bash_commands").value("report") == "FINANCE!"
    quiet = walk("bash_commands", conf={"team": "$(echo data)", "loud": False})
    assert quiet.value("report") == "Report of 2026-03-01 for data"  # a template puts texts into the command itself
    assert quiet.value("greet") == "Hello, $(echo data)"  # the environment keeps them as they are


def test_params_of_a_run_are_checked_and_used() -> None:
    german = walk("params", conf={"language": "de", "times": 1})
    assert german.value("greet") == ["Hallo, World!"]
    assert german.value("whisper") == "psst, nobody in particular"
    assert "Param 'times' is not right" in walk("params", conf={"times": 11}).failures["greet"]


def test_the_third_try_works() -> None:
    walked = walk("retries_and_timeouts", try_number=3)
    assert walked.value("works_at_the_third_try") == "try 3"
    assert walked.failures == {"has_no_chance": "The password is wrong."}


def test_variables_and_connections_are_asked_for_while_tasks_run() -> None:
    engine = Engine(
        variables={"example_count": "4", "example_city": "Bern"},
        connections={"example_db": "postgres://host/data?sslmode=require"},
    )
    walked = walk("variables_and_connections", engine)
    assert engine.variables["example_count"] == "5"
    assert walked.value("address") == "postgres at host, require"
    assert walked.value("in_template") == "Bern data"


def test_a_file_is_waited_for(tmp_path: Path) -> None:
    connection = f'{{"conn_type": "fs", "extra": {{"path": "{tmp_path}"}}}}'
    engine = Engine(connections={"example_folder": connection})
    late = walk("wait_for_file", engine, sensor_time_left=timedelta(0))
    assert unusual(late) == {"wait": SKIPPED, "load": SKIPPED}
    (tmp_path / "orders_2026-03-01.csv").touch()
    assert unusual(walk("wait_for_file", engine)) == {}


def test_times_are_waited_for() -> None:
    assert unusual(walk("wait_for_time", now=datetime(2026, 3, 2, tzinfo=UTC))) == {}


class Ready(BaseHTTPRequestHandler):
    """Is always ready."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "ready"}')

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def test_a_web_service_is_waited_for() -> None:
    with HTTPServer(("127.0.0.1", 0), Ready) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        engine = Engine(connections={"example_api": f"http://127.0.0.1:{server.server_port}"})
        walked = walk("wait_for_http", engine)
        server.shutdown()
        thread.join()
    assert unusual(walked) == {}


def test_another_dag_is_waited_for() -> None:
    success = TaskState.SUCCESS
    engine = Engine(
        runs={("first_steps", "r"): OtherRun("success", DAY)},
        instances=[
            ("taskflow", "extract", DAY, success),
            ("taskflow", "add_up", DAY, SKIPPED),
            ("first_steps", "print_the_day", DAY - timedelta(days=1), success),
        ],
    )
    assert unusual(walk("wait_for_another_dag", engine)) == {}


def test_another_dag_is_launched() -> None:
    engine = Engine(dags={"params": ["greet"]})
    walked = walk("launch_another_dag", engine)
    assert walked.value("say_which") == "launched_by_scheduled__2026-03-01"
    assert engine.launched[0].conf == '{"name":"launch_another_dag","times":1}'


def test_the_run_before_this_one_is_known() -> None:
    before = RunFacts(dag_id="depends_on_past", run_id="b", run_type="scheduled", data_interval_end=DAY)
    assert walk("depends_on_past", Engine(previous=before)).value("add_to_yesterday") == "2026-03-01 00:00:00+00:00"


def test_both_ways_to_see_an_interval_are_shown() -> None:
    text = "from 2026-03-01 00:00:00+00:00 to 2026-03-02 00:00:00+00:00"
    assert walk("catchup").value("process") == text
    assert walk("no_catchup", file="catchup").value("process_now") == text


def test_many_dags_come_from_one_file() -> None:
    dags = dags_of(FOLDER / "many_dags.py")
    assert set(dags) == {"report_for_finance", "report_for_logistics", "report_for_people"}
    assert Walk(dags["report_for_people"]).value("send") == "sending to people"


def test_callbacks_are_called(capfd: pytest.CaptureFixture[str]) -> None:
    dag = dag_of("callbacks")
    order = RunCallback(kind=Callback.FAILURE, leg=order_for(dag, "works"), reason="it broke", of_run=True)
    run_callback(order, dag, Engine())
    assert capfd.readouterr().err.endswith("works of scheduled__2026-03-01: it broke\n")
    assert to_plan(dag).callbacks == {Callback.SUCCESS, Callback.FAILURE}
