"""`bide config`: every setting, its value, and where it came from."""

from enum import StrEnum
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bide.settings import Explained, explain

# Nothing is cut or wrapped where no terminal has an edge.
WIDE = 1000


class Output(StrEnum):
    """How to write it."""

    TABLE = "table"
    JSON = "json"


def show(
    context: typer.Context,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="json holds each setting's description too, and is valid YAML.")
    ] = Output.TABLE,
) -> None:
    """Show every setting, its value, and where it came from; secrets are masked."""
    settings = explain(overrides=context.obj)
    if output is Output.JSON:
        print(msgspec.json.format(msgspec.json.encode(settings), indent=2).decode())
    else:
        Console(width=None if Console().is_terminal else WIDE).print(table(settings))


def table(settings: list[Explained]) -> Table:
    """Lay the settings out for people."""
    shown = Table("setting", "value", "source", box=None, pad_edge=False)
    for setting in settings:
        style = "dim" if setting.source == "default" else "bold"
        shown.add_row(f"{setting.section}.{setting.key}", Text(in_words(setting.value), style), Text(setting.source))
    return shown


def in_words(value: str | int | float | bool | list[str]) -> str:
    """Write a value as one would set it on the command line."""
    if isinstance(value, list):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
