"""Somebody at the command line: says a command in a folder of their own, and reads what comes back.

The whole program runs, from its first line to its exit code, only in this process and so without its start.
"""

import asyncio
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import pytest

from bide.cli.main import main


class Keyboard(io.StringIO):
    """What somebody types."""

    def isatty(self) -> bool:
        """There is a terminal."""
        return True


@dataclass(frozen=True)
class Said:
    """How a command ended, what it said, and what it said beside that."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What it said, line by line, with single blanks."""
        return [" ".join(line.split()) for line in self.out.splitlines() if line.strip()]

    def json(self) -> Any:
        """What it said, as a program reads it."""
        assert self.code == 0, self.err
        return json.loads(self.out)


@dataclass(frozen=True)
class Person:
    """Somebody with a database and a folder."""

    patch: pytest.MonkeyPatch
    _outs: list[io.StringIO] = field(default_factory=list)

    @property
    def heard(self) -> str:
        """What the command at work has said so far."""
        return self._outs[-1].getvalue() if self._outs else ""

    def say(self, *arguments: str, given: str = "", typed: str | None = None) -> Said:
        """Say a command; `given` comes in by a pipe, `typed` is what somebody types at a terminal."""
        out, err = io.StringIO(), io.StringIO()
        self._outs.append(out)
        self.patch.setattr(sys, "argv", ["bide", *arguments])
        self.patch.setattr(sys, "stdin", io.StringIO(given) if typed is None else Keyboard(typed))
        code: Any = 0
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main()
            except SystemExit as ending:
                code = ending.code
        return Said(int(code or 0), out.getvalue(), err.getvalue())

    async def says(self, *arguments: str, given: str = "", typed: str | None = None) -> Said:
        """Say a command while other things go on."""
        return await asyncio.to_thread(self.say, *arguments, given=given, typed=typed)

    async def done(self, *arguments: str, typed: str | None = None) -> list[str]:
        """Say a command that must be done, and return what it said."""
        said = await self.says(*arguments, typed=typed)
        assert said.code == 0, said.err
        return said.lines

    async def refused(self, *arguments: str, code: int = 1, given: str = "") -> str:
        """Say a command that must be refused, and return why, on one line."""
        said = await self.says(*arguments, given=given)
        assert said.code == code, said
        assert "Traceback" not in said.err
        return " ".join(said.err.replace("│", " ").split())
