"""What the embedded server cannot do is said in a sentence, nothing is left running, and once it is mended it works."""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest

from bide import embedded
from bide.errors import EmbeddedServerError
from tests.process.alive import processes_of
from tests.process.ask import ask
from tests.process.conftest import copy_folder


def refusal(folder: Path) -> str:
    """Return what is said, after a look that nothing was left behind."""
    with pytest.raises(EmbeddedServerError) as refused, embedded.running(folder):
        pass
    assert processes_of(folder) == []
    said = str(refused.value)
    assert said.endswith(".")
    assert "\n" not in said
    return said


async def check_it_works(folder: Path) -> None:
    with embedded.running(folder) as server:
        assert await ask(server.url, "select 1") == 1


async def test_the_data_of_another_major_version_is_left_alone(folder: Path) -> None:
    version = folder / "data" / "PG_VERSION"
    ours = version.read_text().strip()
    version.write_text("13\n")
    assert f"was made by PostgreSQL 13, and this Bide brings PostgreSQL {ours}: carry" in refusal(folder)
    version.write_text(f"{ours}\n")
    await check_it_works(folder)


async def test_a_folder_that_somebody_has_half_copied_is_not_taken_for_a_database(folder: Path) -> None:
    (folder / "data" / "PG_VERSION").rename(folder / "PG_VERSION")
    assert "holds no database: put a backup back" in refusal(folder)
    (folder / "PG_VERSION").rename(folder / "data" / "PG_VERSION")
    (folder / "data" / "global" / "pg_control").rename(folder / "pg_control")
    assert "does not start: postgres: could not find the database system" in refusal(folder)
    (folder / "pg_control").rename(folder / "data" / "global" / "pg_control")
    await check_it_works(folder)


async def test_a_half_made_database_is_made_anew(tmp_path: Path) -> None:
    half_made = tmp_path / "server" / "data.new"
    (half_made / "base").mkdir(parents=True)
    (half_made / "PG_VERSION").write_text("18\n")
    (tmp_path / "server" / "password").write_text("of the first time")
    await check_it_works(tmp_path / "server")
    assert not half_made.exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a\nb", r"in the folder '.*/a\\nb'"),
        ("\udcff", "has a line break or the like"),
        ("/".join(["long" * 50] * 5), "more than 900 bytes"),
        ("x" * 300, "File name too long"),
        ("file", "File exists"),
        ("file/below", "Not a directory"),
    ],
    ids=["line break", "no text", "long path", "long name", "file", "below a file"],
)
def test_a_folder_that_cannot_be_is_refused(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedServerError, match=said), embedded.running(tmp_path / name):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_link_in_the_place_of_a_file_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    for name in ("lock", "server.log"):
        (folder / name).unlink()
        (folder / name).symlink_to(tmp_path / "precious")
        assert "cannot be used" in refusal(folder)
        (folder / name).unlink()
    assert (tmp_path / "precious").read_text() == "mine"


def mount(what: str, disk: Path) -> None:
    """Change or make a disk in the memory."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", what, "tmpfs", disk], check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, with too little room for a database."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        mount("size=10m", place)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root can mount a disk")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(path: Path) -> None:
    """Write to a file until the disk is full."""
    with suppress(OSError), path.open("ab", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


async def test_a_disk_without_room_for_a_database_is_named_and_then_used(disk: Path) -> None:
    said = refusal(disk / "server")
    assert said.startswith(f"No database could be made in {disk}/server: could not ")
    assert said.endswith(": No space left on device.")
    mount("remount,size=100m", disk)
    await check_it_works(disk / "server")


async def test_a_full_disk_is_named_and_once_there_is_room_all_is_there(template: Path, disk: Path) -> None:
    mount("remount,size=100m", disk)
    folder = disk / "server"
    copy_folder(template, folder)
    with embedded.running(folder) as server:
        await ask(server.url, "create table kept as select 7 as number")
    fill(disk / "filler")
    assert "No space left on device. More is in" in refusal(folder)
    fill(folder / "server.log")
    assert "does not start: the disk is full. More is in" in refusal(folder)
    (disk / "filler").unlink()
    with embedded.running(folder) as server:
        assert await ask(server.url, "select number from kept") == 7


async def test_a_disk_that_fills_up_meanwhile_costs_nothing_that_was_acknowledged(template: Path, disk: Path) -> None:
    mount("remount,size=100m", disk)
    folder = disk / "server"
    copy_folder(template, folder)
    with embedded.running(folder) as server:
        await ask(server.url, "create table kept as select 7 as number")
        fill(disk / "filler")
        with pytest.raises((asyncpg.PostgresError, OSError)):
            await ask(server.url, "create table big as select repeat('x', 1000) from generate_series(1, 60000)")
    (disk / "filler").unlink()
    with embedded.running(folder) as server:
        assert await ask(server.url, "select number from kept") == 7


async def test_a_disk_that_can_only_be_read_is_named(template: Path, disk: Path) -> None:
    mount("remount,size=100m", disk)
    copy_folder(template, disk / "server")
    mount("remount,ro", disk)
    for folder in (disk / "server", disk / "new"):
        assert "Read-only file system" in refusal(folder)
    mount("remount,rw", disk)
    await check_it_works(disk / "server")
