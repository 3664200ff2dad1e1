"""What an author sees of a DAG that is run in their own process."""

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bide import DAG, Variable, dag, get_current_context, task
from bide.authoring.collect import FileBroken, collect
from bide.errors import PlanError, Refusal
from bide.operators.trigger_dagrun import TriggerDagRunOperator
from bide.testing import Engine, Given, try_dag, try_task
from bide.testing.files import connections_in, variables_in
from bide.testing.results import result_of
from tests.testing.conftest import NOON

NOTHING = Given()


def unseen(*_: object) -> None:
    """Nobody looks on."""


def numbers() -> DAG:
    """A DAG that counts."""

    @dag(dag_id="numbers", schedule=None)
    def make(most: int = 2) -> None:
        @task
        def count(most: int) -> list[int]:
            print("counting")
            return list(range(most))

        @task
        def double(number: int) -> int:
            return 2 * number

        double.expand(number=count(most))

    return make()


def test_a_dag_tests_itself_and_says_what_happens(capsys: pytest.CaptureFixture[str]) -> None:
    result = numbers().test(run_conf={"most": 3})
    assert result.state == "success"
    assert result.values("double") == [0, 2, 4]
    assert "counting\n" in result["count"].log
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert "count | counting" in lines
    assert "double[2] success" in lines
    assert lines[-1] == f"numbers {result.run_id}: success"


def test_tasks_that_match_a_pattern_count_as_done(capsys: pytest.CaptureFixture[str]) -> None:
    with DAG("checked", schedule=None) as made:

        @task
        def wait_for_file() -> None:
            raise ValueError("no file here")

        @task
        def work() -> None:
            pass

        wait_for_file() >> work()
    result = made.test(mark_success_pattern="^wait_", logical_date=NOON)
    assert (result.state, result["wait_for_file"].log, result["work"].state) == ("success", "", "success")
    assert result.run_id == "manual__2030-01-01T12:00:00+00:00"


def test_a_dag_does_not_test_itself_while_its_file_is_read() -> None:
    source = "from bide import DAG\nDAG('d', schedule=None).test()\n"
    with pytest.raises(FileBroken, match=r"f\.py:2: dag\.test\(\) runs all tasks; call it below"):
        collect(os.path.join(os.sep, "x", "f.py"), os.path.join(os.sep, "x"), source)


def test_a_dag_cannot_test_itself_elsewhere_than_here() -> None:
    with pytest.raises(PlanError, match="tasks in this process; take use_executor away"):
        numbers().test(use_executor=True)


def test_what_is_given_in_files_is_known_to_tasks_and_not_shown(tmp_path: Path) -> None:
    given = tmp_path / "variables.json"
    given.write_text(json.dumps({"password": "open sesame", "plain": {"value": "v", "description": "d"}, "n": [1]}))
    (tmp_path / "connections").write_text("# where it is\n\nhere = http://me@host/?a=b\n")
    with DAG("given", schedule=None) as made:

        @task
        def read() -> list[Any]:
            print("it is", Variable.get("password"))
            return [Variable.get("plain"), Variable.get("n", deserialize_json=True)]

        @task.bash
        def login() -> str:
            return "echo {{ conn.here.login }}"

        read()
        login()
    shown: list[str] = []
    result = try_dag(
        made,
        Given(variables=given, connections=tmp_path / "connections"),
        lambda task, line: shown.append(f"{task}: {line}"),
        unseen,
    )
    assert (result["read"].value, result["login"].value) == (["v", [1]], "me")
    assert "read: it is ***" in shown
    assert "open sesame" not in result["read"].log


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("a", "holds a line that is not NAME=value"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "given").write_text(text)
    with pytest.raises(Refusal, match=said):
        variables_in(tmp_path / "given")
    with pytest.raises(Refusal, match="cannot be read: No such file"):
        variables_in(tmp_path / "nowhere")
    (tmp_path / "given").write_text("db=no uri")
    with pytest.raises(Refusal, match="connection 'db' cannot be read"):
        connections_in(tmp_path / "given")


def test_one_task_runs_alone_and_once() -> None:
    with DAG("chained", schedule=None) as made:

        @task
        def before() -> int:
            raise AssertionError("nobody has asked for this")

        @task(retries=5, depends_on_past=True)
        def alone(given: int | None) -> None:
            raise ValueError(f"given {given}")

        @task
        def mapped(number: int) -> int:
            return number

        alone(before())
        mapped.expand(number=[3, 4])
        mapped.override(task_id="unknown").expand(number=before.override(task_id="list")())
    result = try_task(made, "alone", NOTHING, unseen)
    assert [(one.task_id, one.state, one.tries) for one in result.tasks] == [("alone", "failed", 1)]
    assert "ValueError: given None" in result["alone"].log
    assert try_task(made, "mapped", NOTHING, unseen).values("mapped") == [3, 4]
    with pytest.raises(Refusal, match="'unknown' is mapped over what other tasks return"):
        try_task(made, "unknown", NOTHING, unseen)
    with pytest.raises(Exception, match="There is no task 'alon' in chained; did you mean 'alone'"):
        try_task(made, "alon", NOTHING, unseen)


def test_a_sensor_in_poke_mode_makes_nobody_wait(engine: Engine) -> None:
    with DAG("patient", schedule=None) as made:

        @task.sensor(poke_interval=3600, timeout=86_400)
        def much_later() -> bool:
            return engine.now >= NOON + timedelta(hours=5)

        @task.sensor(poke_interval=3600, timeout=7200)
        def never() -> bool:
            return False

        @task.sensor(poke_interval=3600, execution_timeout=timedelta(minutes=90))
        def too_late() -> bool:
            return False

        much_later()
        never()
        too_late()
    number = engine.launch(made)
    engine.go()
    result = result_of(engine, number)
    assert [task.state for task in result.tasks] == ["success", "failed", "failed"]
    assert "It did not come within 2:00:00" in result["never"].log
    assert "longer than its execution_timeout" in result["too_late"].log


def test_a_task_that_waits_for_another_dag_lets_it_run(engine: Engine) -> None:
    with DAG("other", schedule=None) as other:

        @task
        def work() -> None:
            print(get_current_context()["dag"].dag_id)

        work()
    with DAG("asking", schedule=None, default_args={"do_xcom_push": False}) as asking:
        TriggerDagRunOperator(
            task_id="ask", trigger_dag_id="other", trigger_run_id="r", wait_for_completion=True, poke_interval=60
        )
    engine.add(other)
    number = engine.launch(asking)
    engine.go()
    result = result_of(engine, number)
    assert result.state == "success"
    assert "Run r has ended as success" in result["ask"].log
    assert "INFO     other" not in result["ask"].log
    assert "other\n" not in result["ask"].log


INTERRUPTED = """
import os, signal
from datetime import timedelta
from bide import DAG, task
with DAG("d", schedule=None) as dag:
    @task(retries=1000, retry_delay=timedelta(seconds=1))
    def stuck():
        os.kill(os.getpid(), signal.SIGINT)
    stuck()
if __name__ == "__main__":
    dag.test()
"""


def test_an_interrupt_ends_the_whole_test(tmp_path: Path) -> None:
    (tmp_path / "d.py").write_text(INTERRUPTED)
    run = subprocess.run([sys.executable, "d.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == -signal.SIGINT, run.stderr
    assert run.stderr.count("stuck |") < 50
