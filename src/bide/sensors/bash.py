"""A sensor that asks a command."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from typing import Unpack

from bide.authoring import BaseSensorOperator, BaseTrigger, Context, SensorArguments, Shell, environment
from bide.exceptions import TaskError
from bide.triggers.command import CommandTrigger


class BashSensor(BaseSensorOperator):
    """Waits until a command ends with exit code 0.

    With `retry_exit_code` only that exit code means "not there yet", and every other one fails the task.
    """

    template_fields: Collection[str] = ("bash_command", "env")
    template_ext: Collection[str] = (".sh", ".bash")
    has_both_modes = True

    def __init__(
        self,
        *,
        bash_command: str,
        env: dict[str, str] | None = None,
        output_encoding: str = "utf-8",
        retry_exit_code: int | None = None,
        **kwargs: Unpack[SensorArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.bash_command = bash_command
        self.env = env
        self.output_encoding = output_encoding
        self.retry_exit_code = retry_exit_code
        self._shell = Shell()

    def poke(self, context: Context) -> bool:
        """Run the command."""
        with tempfile.TemporaryDirectory(prefix="bide-") as folder:
            self.log.info("Running: %s", self.bash_command)
            code, _ = self._shell.run(
                self.bash_command, environment(self.env, False), folder, self.output_encoding, self.log.info
            )
        self.log.info("The command has ended with exit code %s.", code)
        if code and self.retry_exit_code is not None and code != self.retry_exit_code:
            raise TaskError(f"The command has ended with exit code {code}.")
        return code == 0

    def trigger(self, context: Context) -> BaseTrigger:
        """Run the command where triggers run."""
        return CommandTrigger(
            self.bash_command,
            env=self.env,
            retry_exit_code=self.retry_exit_code,
            poke_interval=self.poke_interval,
            end_from_trigger=self.ends_in_trigger,
        )

    def on_kill(self) -> None:
        """Stop the command and everything that it has started."""
        self._shell.stop()
