"""A group that imports a command when somebody says it: help and completion of names cost nothing of what it needs."""

import importlib
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


class LazyGroup(TyperGroup):
    """The commands of a table, beside those that are there: the name of each is that of its module, behind a prefix.

    In the module it stands as `app`.
    """

    package: str
    prefix: str = ""
    table: Mapping[str, str]

    def __init__(self, **given: Any) -> None:
        named = {name: TyperCommand(name, help=help) for name, help in self.table.items()}
        super().__init__(**{**given, "commands": {**given.get("commands", {}), **named}})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that was said, and bring it in."""
        name, known, rest = super().resolve_command(ctx, args)
        return name, self.loaded(str(name)) if known and name in self.table else known, rest

    def loaded(self, name: str) -> Any:
        """Import a command."""
        app: typer.Typer = importlib.import_module(f"{self.package}.{self.prefix}{name.replace('-', '_')}").app
        command = get_command(app)
        command.name = name
        command.help = command.help or self.table[name]
        return command
