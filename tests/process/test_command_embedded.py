"""`bide db` on the server that comes along: it is there as long as the command, or found where another one runs it."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from bide import embedded
from tests.process.alive import LINUX, postmaster, processes_of
from tests.process.ask import ask
from tests.process.command import ended, ran, started
from tests.process.conftest import copy_folder
from tests.process.eventually import eventually_now


@pytest.fixture
def here(template: Path, tmp_path: Path) -> Path:
    """The folder that a person works in, with an empty database where Bide keeps it."""
    (tmp_path / ".bide").mkdir()
    copy_folder(template, tmp_path / ".bide" / "postgres")
    return tmp_path


def test_the_first_command_makes_everything_and_leaves_nothing_running(tmp_path: Path) -> None:
    name = f"The embedded database in {tmp_path}/.bide/postgres"
    code, said, complained = ran(tmp_path, "db", "migrate")
    assert (code, complained) == (0, "")
    assert said.endswith(f"{name} is up to date.\n")
    assert processes_of(tmp_path / ".bide" / "postgres") == []
    assert ran(tmp_path, "db", "check") == (0, f"{name} is up to date.\n", "")
    code, _, complained = ran(tmp_path, "db", "reset")
    assert (code, complained) == (
        1,
        f"Error: A reset drops 0 runs and everything else in {name[0].lower()}{name[1:]}. "
        "Nobody is here to be asked: use --yes.\n",
    )
    assert ran(tmp_path, "db", "reset", "--yes") == (0, f"{name} is as new.\n", "")


def test_the_folder_is_the_one_of_the_settings(here: Path) -> None:
    (here / ".bide").rename(here / "elsewhere")
    assert ran(here, "--set", "core.data_dir=elsewhere", "db", "migrate")[0] == 0
    (here / "bide.toml").write_text("[core]\ndata_dir = 'elsewhere'\n")
    assert ran(here, "db", "check")[0] == 0
    assert not (here / ".bide").exists()


async def test_a_command_uses_the_server_that_runs_already(here: Path) -> None:
    with embedded.running(here / ".bide" / "postgres") as server:
        first = postmaster(here / ".bide" / "postgres")
        assert ran(here, "db", "migrate")[0] == 0
        assert await ask(server.url, "select count(*) from migration") == 1
        assert postmaster(here / ".bide" / "postgres") == first


@pytest.mark.skipif(not LINUX, reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["data.new/base", "data/postmaster.pid"])
def test_a_command_that_is_stopped_takes_its_server_along(tmp_path: Path, moment: str, number: signal.Signals) -> None:
    folder = tmp_path / ".bide" / "postgres"
    process = started(tmp_path, "db", "migrate")
    eventually_now((folder / moment).exists, 30)
    process.send_signal(number)
    code, said, complained = ended(process)
    stopped = (130 if number == signal.SIGINT else -number, "")
    # On a busy machine the signal may come when all is done.
    assert (code, complained) in (stopped, (0, ""))
    assert code != 0 or "up to date" in said
    eventually_now(lambda: processes_of(folder) == [], 30)
    assert ran(tmp_path, "db", "migrate")[0] == 0


@pytest.mark.skipif(not LINUX, reason="needs /proc")
def test_ctrl_c_at_a_terminal_reaches_the_command_alone(here: Path) -> None:
    # A terminal sends the signal to all of its group, and a server that hears it twice ends at once.
    folder = here / ".bide" / "postgres"
    process = started(here, "db", "migrate", start_new_session=True)
    eventually_now(lambda: processes_of(folder), 30)
    assert process.pid not in {os.getsid(pid) for pid in processes_of(folder)}
    os.killpg(process.pid, signal.SIGINT)
    assert ended(process)[::2] in ((130, ""), (0, ""))


def test_a_database_that_cannot_be_used_is_said_in_one_sentence(here: Path) -> None:
    (here / ".bide" / "postgres" / "data" / "PG_VERSION").write_text("13\n")
    code, said, complained = ran(here, "db", "check")
    assert (code, said) == (1, "")
    assert complained.startswith(f"Error: The database in {here}/.bide/postgres was made by PostgreSQL 13, ")
    shutil.rmtree(here / ".bide")
    (here / ".bide").touch()
    assert "cannot be used" in ran(here, "db", "check")[2]
