"""Sensors for what is outside: files, web servers, runs and tasks of other DAGs."""

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bide.model.outcome import Failed, Skipped, Succeeded
from bide.model.states import TaskState
from tests.authoring.engine import Engine, OtherRun
from tests.authoring.world import DAY, dag_in, failure, leg_of

OUTSIDE = """
    from datetime import timedelta
    from bide import DAG
    from bide.sensors.external_task import ExternalTaskSensor
    from bide.sensors.filesystem import FileSensor
    from bide.sensors.http import HttpSensor
    with DAG("d"):
        {}(task_id="t", timeout=0, {})
"""


def ends(sensor: str, arguments: str, engine: Engine | None = None, **known: Any) -> Any:
    """Return whether it is there, or how else the leg has ended."""
    outcome = leg_of(dag_in(OUTSIDE.format(sensor, arguments)), "t", engine, **known)
    if isinstance(outcome, Failed):
        return False if outcome.error == "It did not come within 0:00:00." else outcome.error
    return True if outcome == Succeeded({}) else outcome


# Files. -------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "empty" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "2026-03-01.csv").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("path", "more", "there"),
    [
        ("in/deep/2026-03-01.csv", "", True),
        ("in/deep/{{ ds }}.csv", "", True),
        ("in/deep/other.csv", "", False),
        ("in/deep/*.csv", "", True),
        ("in/*.csv", "", False),
        ("in/**/*.csv", ", recursive=True", True),
        ("in", "", True),
        ("empty", "", False),
    ],
)
def test_files_patterns_and_folders_are_waited_for(folder: Path, path: str, more: str, there: bool) -> None:
    assert ends("FileSensor", f"filepath={str(folder / path)!r}{more}") is there
    engine = Engine(connections={"fs_default": f'{{"conn_type": "fs", "extra": {{"path": "{folder}"}}}}'})
    assert ends("FileSensor", f"filepath={path!r}{more}", engine) is there


def test_a_relative_path_needs_its_connection() -> None:
    assert ends("FileSensor", "filepath='in'") == "There is no connection 'fs_default'. Add it under this id."


# Web servers. -------------------------------------------------------------------------------------------------


class Site(ThreadingHTTPServer):
    """A server on the loopback that remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[tuple[str, str, dict[str, str], str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answers(BaseHTTPRequestHandler):
    """Answers with the status that the path begins with."""

    server: Site

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.server.asked.append((self.command, self.path, dict(self.headers), body))
        self.send_response(int(self.path[1:4]))
        self.end_headers()
        self.wfile.write(b'{"ready": true}')

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "more", "outcome"),
    [
        ("200", "", True),
        ("404", "", False),
        ("503", "", "{url}/503 has answered with status 503."),
        ("503", ", response_error_codes_allowlist=[503]", False),
        ("200", ", response_check=lambda response: response.json()['ready']", True),
        ("200", ", response_check=lambda response, ti: ti.task_id == 'other'", False),
    ],
)
def test_what_a_server_answers_decides(site: Site, path: str, more: str, outcome: Any) -> None:
    expected = outcome.format(url=site.url) if isinstance(outcome, str) else outcome
    assert ends("HttpSensor", f"endpoint='{site.url}/{path}'{more}") == expected


def test_a_connection_says_where_the_server_is_and_who_asks(site: Site) -> None:
    uri = f"http://me:secret@127.0.0.1:{site.server_port}?X-Who=me"
    arguments = "endpoint='/200/{{ ds }}', headers={'X-Day': '{{ ds }}'}, request_params={'a': 'b'}"
    assert ends("HttpSensor", arguments, Engine(connections={"http_default": uri})) is True
    ((method, path, headers, body),) = site.asked
    assert (method, path, body) == ("GET", "/200/2026-03-01?a=b", "")
    assert (headers["X-Day"], headers["X-Who"], headers["Authorization"]) == ("2026-03-01", "me", "Basic bWU6c2VjcmV0")


def test_the_params_of_a_post_are_its_body(site: Site) -> None:
    host = f'{{"conn_type": "http", "host": "{site.url}"}}'
    arguments = "endpoint='200', method='POST', http_conn_id='h', request_params={'a': 'b'}"
    assert ends("HttpSensor", arguments, Engine(connections={"h": host})) is True
    assert site.asked[0][::3] == ("POST", "a=b")


def test_a_server_that_is_not_there_is_named() -> None:
    with Site() as gone:
        url = gone.url
    assert ends("HttpSensor", f"endpoint='{url}/x'").startswith(f"{url}/x gives no answer: ")


# Other DAGs. --------------------------------------------------------------------------------------------------

EARLIER = DAY - timedelta(hours=6)


def other(*instances: tuple[str, datetime, TaskState], run: str = "running") -> Engine:
    return Engine(
        dags={"other": ["a", "b", "g.c"]},
        runs={("other", "now"): OtherRun(run, DAY), ("other", "earlier"): OtherRun("success", EARLIER)},
        instances=[("other", *instance) for instance in instances],
    )


S, F, R, K = TaskState.SUCCESS, TaskState.FAILED, TaskState.RUNNING, TaskState.SKIPPED
DONE = [("a", DAY, S), ("b", DAY, R), ("g.c", DAY, S), ("b", EARLIER, S)]


@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        ("external_task_id='a'", True),
        ("external_task_id='b'", False),
        ("external_task_id='{{ \"a\" }}'", True),
        ("external_task_ids=['a', 'b']", False),
        ("external_task_group_id='g'", True),
        ("external_task_group_id='gone'", False),
        ("external_task_id='b', execution_delta=timedelta(hours=6)", True),
        ("external_task_id='b', execution_date_fn=lambda date: date.subtract(hours=6)", True),
        ("external_task_id='b', execution_date_fn=lambda date, ds: [date, date.subtract(hours=6)]", False),
        ("external_task_id='b', allowed_states=['running']", True),
        ("external_task_id='b', failed_states=['running']", "What it waits for in DAG 'other' has failed."),
        ("external_task_id='b', failed_states=['running'], soft_fail=True",
         Skipped("What it waits for in DAG 'other' has failed.")),
        ("external_task_id='b', skipped_states=['running']", Skipped("What it waits for in DAG 'other' was skipped.")),
        ("", False),
        ("allowed_states=['running']", True),
        ("failed_states=['running']", "What it waits for in DAG 'other' has failed."),
        ("execution_delta=timedelta(hours=6)", True),
        ("execution_delta=timedelta(hours=7)", False),
        ("external_task_id='a', check_existence=True", True),
        ("external_task_id='x', check_existence=True", "DAG 'other' has no task 'x'."),
        ("external_task_group_id='x', check_existence=True", "There is no DAG 'other' with a group 'x'."),
    ],
)  # fmt: skip
def test_runs_tasks_and_groups_of_other_dags_are_waited_for(arguments: str, outcome: Any) -> None:
    assert ends("ExternalTaskSensor", f"external_dag_id='other', {arguments}", other(*DONE)) == outcome


def test_of_a_mapped_task_all_instances_must_have_ended() -> None:
    arguments = "external_dag_id='other', external_task_id='a'"
    assert ends("ExternalTaskSensor", arguments, other(("a", DAY, S), ("a", DAY, R))) is False
    assert ends("ExternalTaskSensor", arguments, other(("a", DAY, S), ("a", DAY, S))) is True
    assert ends("ExternalTaskSensor", arguments, other(("a", DAY, S), ("a", DAY, K))) is False


def test_a_dag_that_is_not_there_is_waited_for_unless_it_must_be() -> None:
    assert ends("ExternalTaskSensor", "external_dag_id='gone'", other()) is False
    assert ends("ExternalTaskSensor", "external_dag_id='gone', check_existence=True", other()) == (
        "There is no DAG 'gone'."
    )


def test_a_run_without_a_date_belongs_to_none_of_another_dag() -> None:
    assert ends("ExternalTaskSensor", "external_dag_id='other'", other(), logical_date=None) == (
        "This run has no logical date, so there is no run of another DAG that belongs to it."
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("external_task_id='a', external_task_ids=['b']", "give one of external_task_id, external_task_ids and "
         "external_task_group_id."),
        ("execution_delta=timedelta(1), execution_date_fn=print", "give execution_delta or execution_date_fn, not "
         "both."),
        ("allowed_states=['skipped']", "allowed_states has 'skipped'; it may have queued, running, success, failed."),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense_together_are_refused(arguments: str, sentence: str) -> None:
    with pytest.raises(Exception, match="Task 't': ") as refused:
        dag_in(OUTSIDE.format("ExternalTaskSensor", f"external_dag_id='other', {arguments}"))
    assert str(refused.value).endswith(sentence)


def test_failures_are_sentences() -> None:
    dag = dag_in(OUTSIDE.format("HttpSensor", "endpoint='x'"))
    assert failure(leg_of(dag, "t")) == "There is no connection 'http_default'. Add it under this id."
