"""Commands on the server that comes along: it is there as long as one of them, and no longer."""

from pathlib import Path

from bide import embedded
from tests.process.alive import processes_of
from tests.process.command import ran


def test_a_command_leaves_no_server_running(folder: Path) -> None:
    here = folder.parent
    (here / ".bide").mkdir()
    folder.rename(here / ".bide" / "postgres")
    assert ran(here, "db", "migrate")[0] == 0
    assert ran(here, "variables", "set", "a", "b") == (0, "a: set\n", "")
    assert processes_of(here / ".bide" / "postgres") == []


def test_a_server_that_runs_is_found_and_none_is_started(folder: Path) -> None:
    assert embedded.found(folder) is None
    with embedded.running(folder) as server:
        assert embedded.found(folder) == embedded.Server(server.url, owned=False)
    assert embedded.found(folder) is None
    assert embedded.found(folder / "nothing") is None
