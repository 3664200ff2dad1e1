"""The program `bide`, as a person runs it: the console script, in a folder, with an environment."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

BIDE = Path(sys.executable).with_name("bide")
NONE: Mapping[str, str] = MappingProxyType({})


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return ours without what is meant for Bide, and without what makes Python write sooner than it does."""
    own = {name: text for name, text in os.environ.items() if not name.startswith(("BIDE_", "PYTHON"))}
    return {**own, **more}


def started(here: Path, *arguments: str, environ: Mapping[str, str] = NONE, **how: Any) -> subprocess.Popen[str]:
    """Start a command in a folder."""
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    return subprocess.Popen(
        [BIDE, *arguments], cwd=here, env=environment(environ), text=True, preexec_fn=hear_ctrl_c, **given
    )


def hear_ctrl_c() -> None:
    """Undo what a shell does to what it starts in the background, and what is passed on to all below."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for the end of a command: its exit code, what it said, and what it complained about."""
    said, complained = process.communicate(timeout=60)
    assert "Traceback" not in (complained or ""), complained
    return process.returncode, said, complained


def ran(here: Path, *arguments: str, environ: Mapping[str, str] = NONE, **how: Any) -> tuple[int, str, str]:
    """Run a command to its end."""
    return ended(started(here, *arguments, environ=environ, **how))
