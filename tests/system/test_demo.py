"""What a newcomer sees first."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

PROGRAM = (sys.executable, "-c", "from bide.cli.main import main; main()")


def test_the_demo_runs_its_200_waits_to_success_says_what_they_saved_and_leaves_nobody(tmp_path: Path) -> None:
    ended = subprocess.run([*PROGRAM, "demo"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "deliver 200 success" in ended.stdout
    assert "200 waits have held no worker" in ended.stdout
    assert [pid for pid in os.listdir("/proc") if folder_of(pid).startswith(str(tmp_path))] == []


def folder_of(pid: str) -> str:
    """Tell where a process works; the demo's own all work in its folder or below it."""
    with suppress(OSError):
        return os.readlink(f"/proc/{pid}/cwd")
    return ""
