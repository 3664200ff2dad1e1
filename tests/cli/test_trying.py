"""`bide dags test` and `bide tasks test`: a DAG file is tried out without a Bide that runs."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.person import Person

FILE = """
from bide import DAG, task

with DAG("{id}", schedule=None, params={{"day": "monday"}}):

    @task
    def extract(params=None):
        print("extracting", params["day"])
        return [1, 2]

    @task
    def load(row):
        if row == {bad}:
            raise ValueError("bad row")

    load.expand(row=extract())
"""


@pytest.fixture
def author(newcomer: Person, monkeypatch: pytest.MonkeyPatch, server_url: str, tmp_path: Path) -> Person:
    """Somebody with two DAG files."""
    monkeypatch.setenv("BIDE_TEST_DATABASE_URL", server_url)
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "good.py").write_text(FILE.format(id="good", bad=0))
    (tmp_path / "dags" / "bad.py").write_text(FILE.format(id="bad", bad=2))
    return newcomer


def test_a_dag_is_tried_out_with_its_logs_and_its_end_decides_the_exit_code(author: Person) -> None:
    said = author.say("dags", "test", "dags/good.py", "--conf", '{"day": "friday"}', "--logical-date", "2030-01-31")
    assert said.code == 0, said.err
    assert "extract | extracting friday" in said.lines
    assert said.lines[-2:] == ["load: 2 success", "good manual__2030-01-31T00:00:00+00:00: success"]
    said = author.say("dags", "test", "bad", "--no-logs")
    assert said.code == 1
    assert "extracting" not in said.out
    assert said.out.count("ValueError: bad row") == 1
    assert "load[1]" in said.lines
    assert said.lines[-1].endswith(": failed")


def test_a_task_whose_log_does_not_say_why_it_has_failed_is_told_of_at_the_end(author: Person, tmp_path: Path) -> None:
    (tmp_path / "dags" / "late.py").write_text(
        "from datetime import timedelta\nfrom bide import DAG\nfrom bide.sensors.time_delta import TimeDeltaSensor\n"
        "with DAG('late', schedule=None):\n"
        "    TimeDeltaSensor(task_id='t', delta=timedelta(hours=2), timeout=60, deferrable=True)\n"
    )
    said = author.say("dags", "test", "late")
    assert said.code == 1
    assert [line for line in said.lines if line.startswith("t failed: ") and "timeout" in line.lower()], said.out


def test_at_a_terminal_there_is_a_picture_below_the_logs(author: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("io.StringIO", Terminal)
    monkeypatch.setenv("TERM", "xterm")
    said = author.say("dags", "test", "good")
    assert said.code == 0, said.err
    assert "extracting monday" in said.out
    assert "\x1b[" in said.out
    assert said.out.rindex("  load") > said.out.rindex("extracting")


def test_one_task_is_tried_out_and_what_it_returns_is_shown(author: Person) -> None:
    said = author.say("tasks", "test", "good", "extract")
    assert said.code == 0, said.err
    assert said.lines[0] == "extract | extracting monday"
    assert said.lines[-2:] == ["extract: success", "It returned [1, 2]"]
    assert "did you mean 'extract'" in author.say("tasks", "test", "good", "extrac").err


def test_what_cannot_be_tried_out_is_refused_in_a_sentence(author: Person, tmp_path: Path) -> None:
    broken = tmp_path / "dags" / "broken.py"
    broken.write_text("from bide import dags\n")
    (tmp_path / "several.py").write_text("from bide import DAG\na = DAG('a', schedule=None)\nb = DAG('b')\n")
    (tmp_path / "none.py").write_text("")
    for words, why in (
        (["dags/broken.py"], "bide has no 'dags'; did you mean 'dag'?"),
        (["nowhere.py"], "nowhere.py cannot be read: No such file or directory."),
        (["goo"], "There is no DAG 'goo'; did you mean 'good'?"),
        (["none.py"], "none.py has no DAG."),
        (["several.py"], "several.py has 2 DAGs; say which, with --dag: a, b."),
        (["several.py", "--dag", "c"], "There is no DAG 'c' in several.py"),
        (["good", "--conf", "{"], "--conf is no JSON"),
        (["good", "--mark-success-pattern", "("], "'(' is no regular expression"),
    ):
        said = author.say("dags", "test", *words)
        assert said.code in (1, 2), words
        assert why in " ".join(said.err.replace("│", " ").split()), words
        assert said.out == ""
    assert "ImportError" in author.say("dags", "test", "dags/broken.py").err


def test_a_file_that_reads_variables_at_its_top_is_tried_out_with_those_that_are_given(
    author: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dags" / "top.py").write_text(
        "from bide import DAG, Variable\nfrom bide.operators.bash import BashOperator\n"
        "with DAG(Variable.get('name'), schedule=None):\n"
        "    BashOperator(task_id=Variable.get('task', default='t'), bash_command='true')\n"
    )
    (tmp_path / "given").write_text("name=from_file")
    assert author.say("dags", "test", "from_file", "--variables", "given").lines[-2] == "t: success"
    assert "There is no variable 'name'" in author.say("dags", "test", "dags/top.py").err
    monkeypatch.setenv("BIDE_VAR_NAME", "from_environment")
    assert author.say("dags", "test", "dags/top.py").lines[-1].startswith("from_environment ")


def test_other_commands_load_nothing_of_what_dag_files_are_written_with() -> None:
    said = (
        "import sys, bide.cli.dags, bide.cli.tasks; print(*(name for name in sys.modules if name.startswith('bide.')))"
    )
    run = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert "bide.cli.dags" in run.stdout
    assert "bide.authoring" not in run.stdout
    assert "bide.testing" not in run.stdout
