"""`bide up`, as a person starts it, while its database and it itself are killed."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process.alive import postmaster, processes_of
from tests.process.command import BIDE, environment, ran
from tests.process.conftest import copy_folder
from tests.process.eventually import eventually_now
from tests.system.processes import marked
from tests.system.site import MARK, PATIENCE_SEC, die_with_us

FILE = """
from pathlib import Path
from threading import Event
from bide import DAG, task

with DAG("patient", schedule=None):
    @task
    def waits() -> int:
        Path("begun").touch()
        while not Path("go").exists():
            Event().wait(0.02)
        return 1

    waits()
"""


@pytest.fixture
def home(knowing_server: Path, tmp_path: Path) -> Path:
    """The folder of a person, with a DAG and a database."""
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "patient.py").write_text(FILE)
    (tmp_path / ".bide").mkdir()
    copy_folder(knowing_server, tmp_path / ".bide" / "postgres")
    return tmp_path


@pytest.fixture
def up(home: Path) -> Iterator["subprocess.Popen[str]"]:
    """`bide up` in that folder."""
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [BIDE, "up"],
            cwd=home,
            env=environment({MARK: str(home)}),
            text=True,
            stdout=log,
            stderr=log,
            preexec_fn=die_with_us,
        )
    eventually_now(lambda: "the DAG patient is new" in (home / "log").read_text(), PATIENCE_SEC)
    yield process
    process.kill()
    process.wait()
    eventually_now(lambda: not processes_of(home / ".bide" / "postgres"), PATIENCE_SEC)


def test_when_its_database_is_killed_it_starts_it_again_and_what_runs_goes_on(
    home: Path, up: "subprocess.Popen[str]"
) -> None:
    code, run_id, _ = ran(home, "dags", "trigger", "patient")
    assert code == 0
    eventually_now((home / "begun").exists, PATIENCE_SEC)
    os.kill(postmaster(home / ".bide" / "postgres"), signal.SIGKILL)
    (home / "go").touch()
    watched = ran(home, "runs", "watch", "patient", run_id.strip())
    assert watched[0] == 0, watched
    assert up.poll() is None
    # The command that watches may have been first to start it, for as long as it watched.
    again = "The database server has ended, so it is started again."
    eventually_now(lambda: again in (home / "log").read_text(), PATIENCE_SEC)
    up.send_signal(signal.SIGINT)
    assert up.wait(PATIENCE_SEC) == 0
    assert not marked(f"{MARK}={home}")


def test_when_it_is_killed_nothing_of_it_is_left_over(home: Path, up: "subprocess.Popen[str]") -> None:
    assert ran(home, "dags", "trigger", "patient")[0] == 0
    eventually_now((home / "begun").exists, PATIENCE_SEC)
    # A parser, a runner, a warm process and its child, and the server.
    assert len(marked(f"{MARK}={home}") - {up.pid}) >= 4
    assert processes_of(home / ".bide" / "postgres")
    up.kill()
    up.wait()
    eventually_now(lambda: not marked(f"{MARK}={home}"), PATIENCE_SEC)
    eventually_now(lambda: not processes_of(home / ".bide" / "postgres"), PATIENCE_SEC)


def test_it_names_files_that_are_broken_and_says_so_where_it_is_up_already(
    home: Path, up: "subprocess.Popen[str]"
) -> None:
    (home / "dags" / "patient.py").write_text("from bide import DAG, tsk\n")
    eventually_now(lambda: "patient.py cannot be used: " in (home / "log").read_text(), PATIENCE_SEC)
    assert "did you mean 'task'?" in (home / "log").read_text()
    assert "detected" not in (home / "log").read_text()
    with (home / "other").open("w") as log:
        other = subprocess.Popen([BIDE, "up"], cwd=home, text=True, stderr=log, stdout=log, preexec_fn=die_with_us)
    eventually_now(lambda: "Bide is up. " in (home / "other").read_text(), PATIENCE_SEC)
    said = " ".join((home / "other").read_text().split())
    assert f"Bide is up here already, in 1 other process ({up.pid})" in said
    other.kill()
    other.wait()
