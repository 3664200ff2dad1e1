"""Folders with a database in them: made once, then copied, because making one takes ten times as long."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bide import embedded
from tests.process.alive import processes_of


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a server that was started once and stopped."""
    folder = tmp_path_factory.mktemp("template") / "server"
    with embedded.running(folder):
        pass
    return folder


def copy_folder(folder: Path, to: Path) -> None:
    """Copy the folder of a server that is not running, with its owner."""
    subprocess.run(["cp", "-a", folder, to], check=True)


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder of its own with an empty database; no process of it may outlive the test."""
    to = tmp_path / "server"
    copy_folder(template, to)
    yield to
    assert processes_of(to) == []
