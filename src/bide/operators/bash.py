"""An operator that runs a command in bash."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Container, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Unpack

from bide.authoring import BaseOperator, Context, OperatorArguments, Shell, environment
from bide.exceptions import TaskError, TaskSkipped


class BashOperator(BaseOperator):
    """Runs a command, or the script in a file that ends in .sh or .bash. Its last line of output is returned.

    Exit code 99 means that the task counts as skipped; `skip_on_exit_code` may name others.
    """

    template_fields: Collection[str] = ("bash_command", "env", "cwd")
    template_ext: Collection[str] = (".sh", ".bash")
    template_fields_renderers: Mapping[str, str] = {"bash_command": "bash", "env": "json"}
    ui_color = "#f0ede4"

    def __init__(
        self,
        *,
        bash_command: str,
        env: dict[str, str] | None = None,
        append_env: bool = False,
        output_encoding: str = "utf-8",
        skip_on_exit_code: int | Container[int] | None = 99,
        cwd: str | None = None,
        output_processor: Callable[[str], Any] = lambda line: line,
        **kwargs: Unpack[OperatorArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.bash_command = bash_command
        self.env = env
        self.append_env = append_env
        self.output_encoding = output_encoding
        self.skip_on_exit_code = skip_on_exit_code
        self.cwd = cwd
        self.output_processor = output_processor
        self._shell = Shell()

    def execute(self, context: Context) -> Any:
        """Run the command."""
        with ExitStack() as leaving:
            folder = self.cwd or leaving.enter_context(tempfile.TemporaryDirectory(prefix="bide-"))
            if not Path(folder).is_dir():
                raise TaskError(f"cwd {folder!r} is no folder.")
            self.log.info("Running: %s", self.bash_command)
            code, last = self._shell.run(
                self.bash_command, environment(self.env, self.append_env), folder, self.output_encoding, self.log.info
            )
        self.log.info("The command has ended with exit code %s.", code)
        if code and self._skips(code):
            raise TaskSkipped(f"The command has ended with exit code {code}, which means: nothing to do.")
        if code:
            raise TaskError(f"The command has ended with exit code {code}.")
        return self.output_processor(last)

    def _skips(self, code: int) -> bool:
        wanted = self.skip_on_exit_code
        return wanted is not None and (code == wanted if isinstance(wanted, int) else code in wanted)

    def on_kill(self) -> None:
        """Stop the command and everything that it has started."""
        self._shell.stop()
